/** A worker's presence over NATS. */
import type { Nats } from '../nats/connection.ts';
import { publishPresence } from '../pools/nats/workers.ts';
import type { PresenceChannel } from './presence.ts';

export const natsPresence = (nats: Nats): PresenceChannel => ({
  publish: (presence) => publishPresence(nats, presence),
  flush: () => nats.core.flush(),
});
