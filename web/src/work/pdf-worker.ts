/** The thread in which PDF.js reads a visitor's PDF: importing it there sets it to work. */
import 'pdfjs-dist/legacy/build/pdf.worker.mjs';
