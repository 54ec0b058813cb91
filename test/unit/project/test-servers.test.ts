import { globSync } from 'node:fs';
import { expect, it } from 'vitest';
import { serversFor } from '../../../scripts/test-servers.ts';

it.each([
  ['test/cluster/chart.test.ts', ['helm']],
  ['test/cluster/crds.test.ts', ['kstatus']],
  ['test/cluster/pools.test.ts', ['kwok']],
  ['test/conformance/stores-nats.test.ts', []],
])('%s needs %j beside the servers that are always there', (file, servers) => expect(serversFor([file])).toEqual(servers));

it('files need what one of them does', () =>
  expect(serversFor(['test/cluster/chart.test.ts', 'test/cluster/pools.test.ts'])).toEqual(['helm', 'kwok']));

it('all files need all of them', () => expect(serversFor(globSync('test/**/*.test.ts'))).toEqual(['helm', 'kstatus', 'kwok']));
