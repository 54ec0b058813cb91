/** PDF, strictly: the header must be at the very beginning, although readers search the first kilobyte for it. */
import { latin1 } from './bytes.ts';
import type { Sniffer } from './sample.ts';
import { asFormat } from './verdict.ts';

/** A byte order mark and a few blanks are allowed: mail gateways and text editors add them. */
export const pdf: Sniffer = ({ head }) => (/^(?:\xef\xbb\xbf)?\s{0,4}%PDF-\d/.test(latin1(head, 0, 16)) ? asFormat('pdf') : undefined);
