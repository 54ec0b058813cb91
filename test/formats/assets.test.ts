/** Conversions of this toolchain, by content. */
import { provePairs } from '../kit/pairs.ts';

provePairs('assets');
