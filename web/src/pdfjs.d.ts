/** It says nothing of its types, and leaves what it exports where `pdf.mjs` looks for it. */
declare module 'pdfjs-dist/legacy/build/pdf.worker.mjs';
