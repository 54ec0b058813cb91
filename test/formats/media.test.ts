/** Conversions of this toolchain, by content. */
import { provePairs } from './pairs.ts';

provePairs('media');
