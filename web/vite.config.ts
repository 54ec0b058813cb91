/** How the page is built: files with hashed names, relative to the document's base, and nothing in the document itself. */
import { readFileSync } from 'node:fs';
import { defineConfig, type Plugin } from 'vite';

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
  plugins: [decoders],
  worker: { format: 'es', plugins: () => [decoders] },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    emptyOutDir: true,
    assetsDir: 'assets',
    // The policy of the page forbids data: scripts and inline styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // PDF.js, which is fetched only where a PDF's pages are shown.
    chunkSizeWarningLimit: 2500,
    rolldownOptions: {
      output: {
        postBanner: ({ name }) =>
          name === 'pdf' ? '/*! PDF.js, Mozilla Foundation, Apache-2.0: https://github.com/mozilla/pdf.js */' : noticesOf(name),
      },
    },
  },
});
