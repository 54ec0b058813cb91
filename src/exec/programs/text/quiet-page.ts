/** The frame of a page that loads nothing, even if some of what strangers wrote into it would. */
import { escaped } from './html.ts';

/** The policy keeps the page from loading anything: a sender does not learn that it was opened. */
export const quietHead = (title: string, styles: string): string => `<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>
body { font-family: sans-serif; margin: 2em }
${styles}
</style>
</head>
<body>
`;
export const QUIET_FOOT = '</body>\n</html>\n';
