/** Every pair whose source is one of these families, by content. */
import { formatOf } from '../../src/catalog/formats.ts';
import { offered, provePairs } from '../kit/pairs.ts';

const families: readonly string[] = ['document', 'sheet', 'slides', 'markup', 'pdf'];

provePairs(offered.sources.filter((source) => families.includes(formatOf(source).family)));
