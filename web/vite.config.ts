/** How the page is built: files with hashed names, relative to the document's base, and nothing in the document itself. */
import { defineConfig } from 'vite';

export default defineConfig({
  // Addresses begin at <base>, which the service sets: the page works below any path.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    emptyOutDir: true,
    assetsDir: 'assets',
    // The policy of the page forbids data: scripts and inline styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
