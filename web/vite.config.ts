/** How the page is built: a document with all that the first view needs, and files with hashed names, relative to its base, for what may follow. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin, runnerImport } from 'vite';

/** Decoders of pictures in a PDF (JPEG 2000; JBIG2 and CCITT), as scripts: the policy of the page forbids WebAssembly. */
const DECODERS = ['openjpeg_nowasm_fallback.js', 'jbig2_nowasm_fallback.js'];
const ASKS = /import\(\s*(?:\/\*[^*]*\*\/\s*)*`\$\{[^}]+\}\$\{this\._noWasmFilename\}`\)/;

/** PDF.js asks for a decoder by its name below an address; imported by name, it becomes a file like the others, with a hash in its name. */
const decoders: Plugin = {
  name: 'pdfjs-decoders',
  transform(code, id) {
    if (!id.endsWith('/pdf.worker.mjs')) return null;
    if (!ASKS.test(code)) throw new Error('PDF.js asks for its decoders in another way than it did: see ASKS');
    const imports = DECODERS.map((name) => `'${name}': () => import('pdfjs-dist/wasm/${name}')`);
    return { code: code.replace(ASKS, `({ ${imports.join(', ')} })[this._noWasmFilename]()`), map: null };
  },
};

/** Moves the script and the styles into the document: a phone on a slow network waits for one answer, not for two. The policy names them by their digests. */
const inline: Plugin = {
  name: 'inline',
  // When Vite has written what the script fetches later.
  generateBundle: {
    order: 'post',
    handler(_, bundle) {
      const document = bundle['index.html'];
      if (document?.type !== 'asset') throw new Error('there is no index.html');
      const moved = { script: '', style: '' };
      const left = String(document.source).replace(
        /<(?:script|link)\b[^>]* (?:src|href)="\.\/([^"]+\.(?:js|css))"[^>]*>(?:<\/script>)?\n?/g,
        (_tag, name) => {
          const file = bundle[name];
          delete bundle[name];
          // What would end the script is written in another way: in strings and regular expressions it means the same.
          if (file?.type === 'chunk') moved.script += file.code.replace(/<(?=\/?script|!--)/gi, '\\x3c');
          if (file?.type === 'asset') moved.style += String(file.source);
          return '';
        },
      );
      // What is fetched later would ask for the script that is in the document, which has no address.
      for (const file of Object.values(bundle)) {
        const missing = file.type === 'chunk' ? file.imports.find((name) => bundle[name] === undefined) : undefined;
        if (missing !== undefined)
          throw new Error(
            `${file.fileName} imports ${missing}, which is in the document: let it import nothing that the first script does`,
          );
      }
      const [head = '', body = ''] = left.split(/(?=<\/head>)/);
      document.source = `${head}<style>${moved.style}</style>\n${body.replace(/(?=<\/body>)/, () => `<script type="module">${moved.script}</script>\n`)}`;
    },
  },
};

const JSX = { jsx: { runtime: 'automatic', importSource: 'preact' } } as const;

/** The first view in each language, what the head says of each view, and what a browser without JavaScript is shown, beside the document: the service puts them in. */
const firstViews: Plugin = {
  name: 'first-views',
  async generateBundle() {
    const { module } = await runnerImport<typeof import('./src/first.tsx')>(fileURLToPath(new URL('src/first.tsx', import.meta.url)), {
      configFile: false,
      oxc: JSX,
    });
    this.emitFile({ type: 'asset', fileName: 'first.json', source: JSON.stringify(module.firstViews) });
    this.emitFile({ type: 'asset', fileName: 'heads.json', source: JSON.stringify(module.heads) });
    this.emitFile({ type: 'asset', fileName: 'plain.json', source: JSON.stringify(module.plainViews) });
  },
};

/** What their licences ask for: the notices go with the files. */
const NOTICES: Readonly<Record<string, readonly string[]>> = {
  openjpeg_nowasm_fallback: ['LICENSE_OPENJPEG', 'LICENSE_PDFJS_OPENJPEG'],
  jbig2_nowasm_fallback: ['LICENSE_JBIG2', 'LICENSE_PDFJS_JBIG2'],
};
const noticesOf = (chunk: string): string =>
  (NOTICES[chunk] ?? [])
    .map((name) => readFileSync(new URL(`../node_modules/pdfjs-dist/wasm/${name}`, import.meta.url), 'utf8').replace(/\/\*|\*\//g, ''))
    .map((text) => `/*!\n${text}*/\n`)
    .join('');

export default defineConfig({
  // Addresses begin at <base>, which the service sets: the page works below any path.
  base: './',
  plugins: [decoders, inline, firstViews],
  worker: { format: 'es', plugins: () => [decoders] },
  oxc: JSX,
  build: {
    target: 'es2022',
    emptyOutDir: true,
    assetsDir: 'assets',
    // The policy of the page forbids data: scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // PDF.js, which is fetched only where a PDF's pages are shown.
    chunkSizeWarningLimit: 2500,
    rolldownOptions: {
      output: {
        // In the document, addresses of files are relative to its base.
        entryFileNames: '[name].js',
        postBanner: ({ name }) =>
          name === 'pdf' ? '/*! PDF.js, Mozilla Foundation, Apache-2.0: https://github.com/mozilla/pdf.js */' : noticesOf(name),
      },
    },
  },
});
