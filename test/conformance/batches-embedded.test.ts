/** The store of batches of one machine, held to its suite. */
import { describe } from 'vitest';
import { openBatches } from '../../src/jobs/batches-sqlite.ts';
import { batchesSuite } from './batches.ts';
import { inOneFile } from './within.ts';

describe('batches in SQLite', () => batchesSuite(() => inOneFile(openBatches)));
