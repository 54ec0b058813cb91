/** Lines of Advanced SubStation Alpha without what is not said: drawings, remarks, and spaces that are written as a code. */

/** Between two braces: codes of styles, remarks, or both. Each brace is read once. */
const BRACES = /(\{[^{}]*\})/;
/** `\p1` and higher begins a drawing, `\p0` ends it; `\pos` and `\pbo` are others. */
const DRAWING = /\\p(\d{1,2})(?=[\\}]|$)/g;

/** @param text a file of that format, in which the last field of each line is its text */
export function plainDialogue(text: string): string {
  let commas = 9;
  return text
    .split('\n')
    .flatMap((line) => {
      // The fields of events are listed in a line before them; styles have such a line, too.
      if (/^Format:/i.test(line) && /,\s*Text\s*$/i.test(line)) commas = line.split(',').length - 1;
      if (!/^Dialogue:/i.test(line)) return [line];
      const start = afterCommas(line, commas);
      const said = spoken(line.slice(start).replace(/\r$/, ''));
      return said === '' ? [] : [line.slice(0, start) + said];
    })
    .join('\n');
}

function afterCommas(line: string, count: number): number {
  let at = 0;
  for (let seen = 0; seen < count; seen++) {
    const next = line.indexOf(',', at);
    if (next < 0) return line.length;
    at = next + 1;
  }
  return at;
}

/** @returns an empty text where nothing is said */
function spoken(text: string): string {
  let draws = false;
  let says = false;
  const parts = text.split(BRACES).map((part) => {
    if (!part.startsWith('{') || !part.endsWith('}')) {
      const words = draws ? '' : part.replaceAll('\\h', ' ');
      says ||= words.replaceAll(/\\[nN]/g, '').trim() !== '';
      return words;
    }
    const codes = part.indexOf('\\');
    if (codes < 0) return '';
    for (const [, scale] of part.matchAll(DRAWING)) draws = Number(scale) > 0;
    return `{${part.slice(codes)}`;
  });
  return says ? parts.join('') : '';
}
