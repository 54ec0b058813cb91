/** PDF: the header is at the very beginning, or, as readers have it, within the first kilobyte of a file that ends as a PDF does. */
import { latin1 } from '../looks/bytes.ts';
import type { Sniffer } from '../looks/sample.ts';
import { asFormat } from './verdict.ts';

/** A byte order mark and a few blanks come from mail gateways and text editors, the header of an answer from programs that download. */
export const pdf: Sniffer = ({ head, tail }) => {
  if (/^(?:\xef\xbb\xbf)?\s{0,4}%PDF-\d/.test(latin1(head, 0, 16))) return asFormat('pdf');
  // A text may speak of the one; the other is a number of bytes (ISO 32000-2, 7.5.5).
  const isInside = /[\r\n]%PDF-\d\.\d[\r\n]/.test(latin1(head, 0, 1024));
  return isInside && /startxref\s{1,4}\d{1,12}\s{1,4}%%EOF/.test(latin1(tail, Math.max(0, tail.length - 1024), 1024))
    ? asFormat('pdf')
    : undefined;
};
