/** Plain text with markup: detected by content (`sniff/text.ts`), or by name where that does not suffice. */
import { type Format, format, type Traits } from './format.ts';

const markup = (id: string, mime: string, traits?: Traits) => format('markup', id, mime, { holds: 'many', tie: 'text', ...traits });
const rare = (id: string, mime: string, traits?: Traits) => markup(id, mime, { use: 'rare', ...traits });

export const markups: readonly Format[] = [
  markup('txt', 'text/plain', { aliases: ['text', 'log'], use: 'common' }),
  markup('md', 'text/markdown', { aliases: ['mkd', 'mkdn', 'mdwn', 'mdown', 'markdown'], use: 'common' }),
  markup('rst', 'text/x-rst', { aliases: ['rest'] }),
  markup('tex', 'application/x-tex', { aliases: ['latex', 'ltx'] }),
  markup('org', 'text/x-org'),
  markup('adoc', 'text/asciidoc', { aliases: ['asc', 'asciidoc'] }),
  markup('wiki', 'text/x-wiki', { aliases: ['mediawiki'] }),
  markup('textile', 'text/x-textile'),
  markup('man', 'text/troff', { aliases: ['roff'] }),
  markup('ipynb', 'application/x-ipynb+json', { structured: true }),
  markup('opml', 'text/x-opml+xml', { structured: true }),
  markup('dbk', 'application/docbook+xml', { aliases: ['docbook', 'db5'], structured: true }),
  rare('jats', 'application/jats+xml', { aliases: ['nxml'], structured: true }),
  rare('tei', 'application/tei+xml', { structured: true }),
  rare('icml', 'application/x-icml', { structured: true }),
  rare('texi', 'application/x-texinfo', { aliases: ['texinfo'] }),
  rare('ctx', 'text/x-context', { aliases: ['context'] }),
  rare('ms', 'text/x-troff-ms'),
  rare('jira', 'text/x-jira'),
  rare('doku', 'text/x-dokuwiki', { aliases: ['dokuwiki'] }),
  rare('zim', 'text/x-zim-wiki', { aliases: ['zimwiki'] }),
  rare('xwiki', 'text/x-xwiki'),
  rare('twiki', 'text/x-twiki'),
  rare('tiki', 'text/x-tikiwiki', { aliases: ['tikiwiki'] }),
  rare('creol', 'text/x-creole', { aliases: ['creole'] }),
  rare('vwiki', 'text/x-vimwiki', { aliases: ['vimwiki'] }),
  rare('muse', 'text/x-muse'),
  rare('hdoc', 'text/x-haddock', { aliases: ['haddock'] }),
  rare('t2t', 'text/x-txt2tags'),
  markup('bib', 'application/x-bibtex', { aliases: ['bibtex'], kin: 'references' }),
  markup('csljs', 'application/vnd.citationstyles.csl+json', { aliases: ['csljson'], structured: true, kin: 'references' }),
];
