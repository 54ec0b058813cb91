/** Log lines for a person at a terminal, made from the JSON lines that everything else gets. */
import { printable, printableLines } from '../printable.ts';

const LEVEL_WIDTH = 5;

/** `12:03:44 info  the job ended  pool=image state=done`; an error's stack follows on separate lines. @param line of JSON */
export function plainLine(line: string): string {
  const { level, time, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const at = new Date(String(time));
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`);
  const stack =
    typeof err === 'object' && err !== null && 'stack' in err ? `\n${printableLines(String(err.stack)).replace(/^/gm, '    ')}` : '';
  return `${clock} ${String(level).padEnd(LEVEL_WIDTH)} ${printable([msg, pairs.join(' ')].filter(Boolean).join('  '))}${stack}\n`;
}

/** @returns where a logger of JSON lines may write */
export const plainOn = (terminal: { write(text: string): unknown }) => ({
  write: (line: string): void => void terminal.write(plainLine(line)),
});
