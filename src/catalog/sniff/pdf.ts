/** PDF, strictly: the header stands at the very beginning, though readers would look for it in the first kilobyte. */
import { latin1 } from './bytes.ts';
import type { Sniffer } from './sample.ts';
import { format } from './verdict.ts';

/** A byte order mark and a few blanks are forgiven: mail gateways and text editors leave them. */
export const pdf: Sniffer = ({ head }) => (/^(?:\xef\xbb\xbf)?\s{0,4}%PDF-\d/.test(latin1(head, 0, 16)) ? format('pdf') : undefined);
