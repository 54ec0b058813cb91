/** Who sends next: hosts take turns, and neither a host nor a client gets more than its rate, or has more under way than its share, however many messages wait for it. */

export interface Turn {
  readonly host: string;
  /** The client's key. */
  readonly client: string;
}

export interface SendQueueSettings {
  readonly perSecond: number;
  readonly atOnce: number;
  /** How many are under way to one host, and for one client. */
  readonly perHost: number;
}

export interface SendQueue<T extends Turn> {
  /** @returns false where too many wait already */
  add(turn: T): boolean;
  /** @param now ms, of any clock that never goes back @returns the next, which is under way until `end`; or how long to wait for it, ms; or undefined */
  take(now: number): T | number | undefined;
  end(turn: T): void;
}

/** How many may wait; those beyond are offered again later. */
const MOST_WAITING = 10_000;

export function sendQueue<T extends Turn>({ perSecond, atOnce, perHost }: SendQueueSettings): SendQueue<T> {
  const pauseMs = 1_000 / perSecond;
  const byHost = new Map<string, T[]>();
  /** By host and by client. */
  const underWay = new Map<string, number>();
  /** By host and by client: when the next may begin. */
  const freeAt = new Map<string, number>();
  let [waiting, running] = [0, 0];

  const hostKey = (host: string) => `host ${host}`;
  const keysOf = ({ host, client }: Turn) => [hostKey(host), `client ${client}`];
  const hasRoom = (key: string) => (underWay.get(key) ?? 0) < perHost;
  const clientHasRoom = ({ client }: Turn) => hasRoom(`client ${client}`);
  const readyAt = (turn: Turn) => Math.max(...keysOf(turn).map((key) => freeAt.get(key) ?? 0));

  return {
    add(turn) {
      if (waiting >= MOST_WAITING) return false;
      const others = byHost.get(turn.host);
      if (others === undefined) byHost.set(turn.host, [turn]);
      else others.push(turn);
      waiting++;
      return true;
    },

    take(now) {
      for (const [key, at] of freeAt) if (at <= now) freeAt.delete(key);
      if (running >= atOnce) return undefined;
      let soonest = Number.POSITIVE_INFINITY;
      for (const [host, queue] of byHost) {
        if (!hasRoom(hostKey(host))) continue;
        const hostFreeAt = freeAt.get(hostKey(host)) ?? 0;
        if (hostFreeAt > now) {
          soonest = Math.min(soonest, hostFreeAt);
          continue;
        }
        // A client that has had its share must not keep the others behind it.
        const at = queue.findIndex((turn) => clientHasRoom(turn) && readyAt(turn) <= now);
        const [turn] = at < 0 ? [] : queue.splice(at, 1);
        if (turn === undefined) {
          // The end of what a client has under way brings the next look.
          const other = queue.find(clientHasRoom);
          if (other !== undefined) soonest = Math.min(soonest, readyAt(other));
          continue;
        }
        byHost.delete(host);
        // Behind all others.
        if (queue.length > 0) byHost.set(host, queue);
        for (const key of keysOf(turn)) {
          freeAt.set(key, now + pauseMs);
          underWay.set(key, (underWay.get(key) ?? 0) + 1);
        }
        waiting--;
        running++;
        return turn;
      }
      return soonest === Number.POSITIVE_INFINITY ? undefined : Math.max(1, soonest - now);
    },

    end(turn) {
      running--;
      for (const key of keysOf(turn)) {
        const left = (underWay.get(key) ?? 1) - 1;
        if (left === 0) underWay.delete(key);
        else underWay.set(key, left);
      }
    },
  };
}

export interface SendTurns<T extends Turn> {
  /** Whether it waits or is under way. */
  has(id: string): boolean;
  /** @returns false where too many wait already */
  add(turn: T): boolean;
  stop(): void;
}

/** Begins each of those that wait when it is its turn. @param begin never rejects; resolves when it has ended */
export function startTurns<T extends Turn & { readonly id: string }>(
  settings: SendQueueSettings,
  begin: (turn: T) => Promise<void>,
): SendTurns<T> {
  const queue = sendQueue<T>(settings);
  const known = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const pump = (): void => {
    clearTimeout(timer);
    timer = undefined;
    while (!isStopped) {
      const next = queue.take(performance.now());
      if (next === undefined) return;
      if (typeof next === 'number') {
        timer = setTimeout(pump, next);
        return;
      }
      const end = () => {
        queue.end(next);
        known.delete(next.id);
        pump();
      };
      void begin(next).finally(end);
    }
  };

  return {
    has: (id) => known.has(id),
    add(turn) {
      known.add(turn.id);
      const isAdded = queue.add(turn);
      if (!isAdded) known.delete(turn.id);
      // Where all wait, the next look is soon: each one added must not cause another.
      else if (timer === undefined) pump();
      return isAdded;
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Without a port: all ports of a host share its rate. */
export const hostOf = (url: string): string => URL.parse(url)?.hostname.replace(/\.$/, '') ?? '';
