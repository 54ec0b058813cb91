/** Text in HTML. */

/** @returns the text as it may stand between tags and in a quoted attribute */
export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
