/** Warns if a file's name or declared type contradicts its content. The content decides. */
import type { EngineWarning } from '../engine.ts';
import { type Format, formatByName, formatOf, formats } from '../formats.ts';

/**
 * @param format canonical id, by content
 * @param filename as the client sent it; ignored if its extension means no format
 * @param declared media type sent with the file; ignored if it means no format, and if it is `text/plain`, a common default
 */
export function differing(format: string, filename: string, declared?: string): EngineWarning[] {
  const named = formatByName(filename);
  const type = declared?.split(';', 1)[0]?.trim().toLowerCase();
  const typed = type === 'text/plain' ? [] : [...formats.values()].filter(({ mime }) => mime === type);
  const told = [
    ...(named !== undefined && !agrees(format, named) ? [`its name says ${named.id}`] : []),
    ...(typed.length > 0 && !typed.some((one) => agrees(format, one)) ? [`its content type says ${typed[0]?.id}`] : []),
  ];
  return told.length === 0
    ? []
    : [{ code: 'content_differs', message: `The file was read as ${format}, based on its content; ${told.join(' and ')}.` }];
}

/** They are tied, or often named for each other. */
function agrees(format: string, { id, tie, kin }: Format): boolean {
  const found = formatOf(format);
  return id === format || (tie !== undefined && tie === found.tie) || (kin !== undefined && kin === found.kin);
}
