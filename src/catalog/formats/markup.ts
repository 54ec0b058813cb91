/** Plain text with markup: detected by content (`sniff/text.ts`), or by name where that does not suffice. */
import { type Format, format, type Traits } from './format.ts';

const markup = (id: string, mime: string, traits?: Traits) => format('markup', id, mime, { holds: 'many', tie: 'text', ...traits });

export const markups: readonly Format[] = [
  markup('txt', 'text/plain', { aliases: ['text', 'log'] }),
  markup('md', 'text/markdown', { aliases: ['mkd', 'mdown'] }),
  markup('rst', 'text/x-rst', { aliases: ['rest'] }),
  markup('tex', 'application/x-tex', { aliases: ['latex', 'ltx'] }),
  markup('org', 'text/x-org'),
  markup('adoc', 'text/asciidoc', { aliases: ['asc'] }),
  markup('wiki', 'text/x-wiki'),
  markup('textile', 'text/x-textile'),
  markup('man', 'text/troff', { aliases: ['roff'] }),
  markup('ipynb', 'application/x-ipynb+json', { structured: true }),
  markup('opml', 'text/x-opml+xml', { structured: true }),
  markup('dbk', 'application/docbook+xml', { aliases: ['xml'], structured: true }),
];
