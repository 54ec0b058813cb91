/** Plain text with markup: detected by content (`sniff/text.ts`), or by name where that does not suffice. */
import { type Format, format, type Traits } from './format.ts';

const markup = (id: string, name: string, mime: string, traits?: Traits) =>
  format('markup', id, name, mime, { holds: 'many', tie: 'text', ...traits });
const rare = (id: string, name: string, mime: string, traits?: Traits) => markup(id, name, mime, { use: 'rare', ...traits });

export const markups: readonly Format[] = [
  markup('txt', 'Plain text', 'text/plain', {
    search: { en: 'notepad, words', de: 'Text, Editor, Notizen', es: 'texto, bloc de notas' },
    aliases: ['text', 'log'],
    use: 'common',
  }),
  markup('md', 'Markdown', 'text/markdown', {
    search: { en: 'readme, github, notes', de: 'Notizen, Readme', es: 'notas, readme' },
    aliases: ['mkd', 'mkdn', 'mdwn', 'mdown', 'markdown'],
    use: 'common',
  }),
  markup('rst', 'reStructuredText', 'text/x-rst', { aliases: ['rest'] }),
  markup('tex', 'LaTeX', 'application/x-tex', { aliases: ['latex', 'ltx'] }),
  markup('org', 'Emacs Org mode', 'text/x-org'),
  markup('adoc', 'AsciiDoc', 'text/asciidoc', { aliases: ['asc', 'asciidoc'] }),
  markup('wiki', 'MediaWiki', 'text/x-wiki', { aliases: ['mediawiki'] }),
  markup('textile', 'Textile', 'text/x-textile'),
  markup('man', 'Unix manual page', 'text/troff', { aliases: ['roff'] }),
  markup('ipynb', 'Jupyter notebook', 'application/x-ipynb+json', { structured: true }),
  markup('opml', 'Outline (OPML)', 'text/x-opml+xml', { structured: true }),
  markup('dbk', 'DocBook', 'application/docbook+xml', { aliases: ['docbook', 'db5'], structured: true }),
  rare('jats', 'Journal article (JATS)', 'application/jats+xml', { aliases: ['nxml'], structured: true }),
  rare('tei', 'Text Encoding Initiative', 'application/tei+xml', { structured: true }),
  rare('icml', 'Adobe InCopy', 'application/x-icml', { structured: true }),
  rare('texi', 'GNU Texinfo', 'application/x-texinfo', { aliases: ['texinfo'] }),
  rare('ctx', 'ConTeXt', 'text/x-context', { aliases: ['context'] }),
  rare('ms', 'Troff ms', 'text/x-troff-ms'),
  rare('jira', 'Jira markup', 'text/x-jira'),
  rare('doku', 'DokuWiki', 'text/x-dokuwiki', { aliases: ['dokuwiki'] }),
  rare('zim', 'Zim wiki', 'text/x-zim-wiki', { aliases: ['zimwiki'] }),
  rare('xwiki', 'XWiki', 'text/x-xwiki'),
  rare('twiki', 'TWiki', 'text/x-twiki'),
  rare('tiki', 'Tiki wiki', 'text/x-tikiwiki', { aliases: ['tikiwiki'] }),
  rare('creol', 'Wiki Creole', 'text/x-creole', { aliases: ['creole'] }),
  rare('vwiki', 'Vimwiki', 'text/x-vimwiki', { aliases: ['vimwiki'] }),
  rare('muse', 'Emacs Muse', 'text/x-muse'),
  rare('hdoc', 'Haddock', 'text/x-haddock', { aliases: ['haddock'] }),
  rare('t2t', 'txt2tags', 'text/x-txt2tags'),
  markup('bib', 'BibTeX references', 'application/x-bibtex', {
    search: { en: 'citation, bibliography', de: 'Zitate, Literaturverzeichnis', es: 'citas, bibliografía' },
    aliases: ['bibtex'],
    kin: 'references',
  }),
  markup('csljs', 'CSL references', 'application/vnd.citationstyles.csl+json', {
    aliases: ['csljson'],
    structured: true,
    kin: 'references',
  }),
];
