/** How a role gets its connection to NATS at its start, over a real server. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config.ts';
import { joinCluster } from '../../../src/roles/cluster/join.ts';
import { type Servers, startNats } from '../../kit/nats/nats.ts';

let servers: Servers;
beforeEach(async () => {
  servers = await startNats();
});
afterEach(() => servers.stop());

const join = () => joinCluster(loadConfig({ NATS_URL: servers.addresses.map((address) => `nats://${address}`).join() }), 'controller');

describe('a server', () => {
  it('that answers after the first attempt is over is waited for', async () => {
    servers.signal('SIGSTOP');
    const joining = join();
    setTimeout(() => servers.signal('SIGCONT'), 4_000);
    const nats = await joining;
    expect(nats.isConnected()).toBe(true);
    await nats.close();
  });

  it('that is not there is told of at once', async () => {
    await servers.kill();
    const began = performance.now();
    await expect(join()).rejects.toThrow(/^no NATS server accepts the connection/);
    expect(performance.now() - began).toBeLessThan(15_000);
  });
});
