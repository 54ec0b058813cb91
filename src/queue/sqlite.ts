/** The queue in one SQLite file, which several processes of one machine may hold open. */
import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { type Lane, lanes, ORDER_VERSION, Order } from '../contracts/messages/order.ts';
import { addColumn, type DatabasePlace, openDatabase } from '../sqlite/open.ts';
import { onAbort } from '../streams/abort.ts';
import { ACK_WAIT_MS, type Delivery, type OrderFacts, type Queue } from './queue.ts';

/**
 * An order is held while it has a `token` and `visible_at` lies ahead; otherwise it waits. A redelivery writes a new token, so that calls of
 * the earlier holder have no effect. AUTOINCREMENT keeps the order of publication even after the newest row is removed.
 *
 * An order's `round` is its client's turn: the rounds of one client's orders follow one another, and none starts before the current round of
 * its lane, which `rounds` stores (start-time fair queueing: Goyal, Vin and Cheng, SIGCOMM 1996).
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS orders (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    pool TEXT NOT NULL, job_id TEXT NOT NULL, lane TEXT NOT NULL, body TEXT NOT NULL,
    published_at INTEGER NOT NULL, visible_at INTEGER NOT NULL, token TEXT, deliveries INTEGER NOT NULL DEFAULT 0,
    client TEXT NOT NULL DEFAULT '', round INTEGER NOT NULL DEFAULT 0, is_small INTEGER NOT NULL DEFAULT 0,
    UNIQUE (pool, job_id)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS rounds (
    pool TEXT NOT NULL, lane TEXT NOT NULL, round INTEGER NOT NULL,
    PRIMARY KEY (pool, lane)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS orders_by_lane ON orders (pool, lane, number);
  CREATE INDEX IF NOT EXISTS orders_by_time ON orders (pool, visible_at);
`;
/** On columns that must first be added to an older filemill's table. */
const INDEXES = `
  CREATE INDEX IF NOT EXISTS orders_by_round ON orders (pool, lane, round, number);
  CREATE INDEX IF NOT EXISTS orders_by_client ON orders (pool, client, lane, round);
  CREATE INDEX IF NOT EXISTS orders_for_express ON orders (pool, lane, round, number) WHERE is_small = 1 AND deliveries = 0;
`;

/** Orders considered before one is taken: among them, clients that hold fewer come first. More than a machine has slots. */
const AHEAD = 64;
/** One in this many orders of a lane is the oldest: clients that send one job after another must not starve the one that waits longest. */
const OLDEST_EVERY = 4;

/** The planner would choose another index and sort all waiting orders: 2 ms with 10,000 orders, while this takes microseconds. */
const aheadBy = (index: string, order: string, also = '') =>
  `SELECT number, client, round, deliveries FROM orders INDEXED BY ${index} WHERE pool = $pool AND lane = $lane AND visible_at <= $now ${also} ORDER BY ${order} LIMIT ${AHEAD}`;
/** @internal for their test */
export const AHEAD_BY = {
  turn: aheadBy('orders_by_round', 'round, number'),
  age: aheadBy('orders_by_lane', 'number'),
  express: aheadBy('orders_for_express', 'round, number', 'AND is_small = 1 AND deliveries = 0'),
};

/** The next of these orders to take. @param which of them, and in which order */
const nextOf = (ahead: string, which: string) => `
  WITH
    holding AS (
      SELECT client, count(*) AS slots FROM orders INDEXED BY orders_by_time
      WHERE pool = $pool AND visible_at > $now AND token IS NOT NULL GROUP BY client
    ),
    ahead AS (${ahead})
  SELECT number, round FROM ahead LEFT JOIN holding USING (client) ${which} LIMIT 1`;

/** @internal for its test */
export const NEXT = {
  inTurn: nextOf(AHEAD_BY.turn, 'ORDER BY coalesce(slots, 0), round, number'),
  // Includes those in turn: if all of the oldest belong to one client that holds slots, a client that holds none still comes first.
  oldest: nextOf(`SELECT * FROM (${AHEAD_BY.age}) UNION SELECT * FROM (${AHEAD_BY.turn})`, 'ORDER BY coalesce(slots, 0), number'),
  express: nextOf(AHEAD_BY.express, 'WHERE slots IS NULL ORDER BY round, number'),
  /** Orders of a client that holds none, delivered for the first time. */
  fresh: nextOf(AHEAD_BY.turn, 'WHERE slots IS NULL AND deliveries = 0'),
};

/** Another process may publish: a waiting pull checks this often, ms. Publications of this process wake it immediately. */
const POLL_MS = 250;
/**
 * The same where no other process may, while the pool has orders: only a step of the clock makes one due earlier than was reckoned. While it
 * has none, only a publication brings one.
 */
const POLL_ALONE_MS = 2_000;

/** How long an order that only a newer worker can read is delayed, for one to take it, ms. */
const HAND_BACK_MS = 10_000;

/**
 * @param at the database file, in an existing folder, or a connection to it; the job store may keep its tables in the same one
 * @param clock ms since the epoch
 * @param capacity orders per pool, waiting and held together
 * @param exclusive no other process pulls: held orders belong to a process that died, and wait again immediately
 */
export function openSqliteQueue(
  at: DatabasePlace,
  clock: () => number,
  { capacity, exclusive = false }: { readonly capacity: number; readonly exclusive?: boolean },
): Queue {
  const database = openDatabase(at, SCHEMA);
  addColumn(database, 'orders', 'client', "TEXT NOT NULL DEFAULT ''");
  addColumn(database, 'orders', 'round', 'INTEGER NOT NULL DEFAULT 0');
  addColumn(database, 'orders', 'is_small', 'INTEGER NOT NULL DEFAULT 0');
  database.exec(INDEXES);
  const sql = {
    has: database.prepare('SELECT 1 FROM orders WHERE pool = ? AND job_id = ?'),
    jobs: database.prepare('SELECT job_id FROM orders WHERE pool = ?'),
    count: database.prepare('SELECT count(*) AS orders FROM orders WHERE pool = ?'),
    publish: database.prepare(
      `INSERT INTO orders (pool, job_id, lane, body, published_at, visible_at, client, round, is_small, deliveries)
       VALUES ($pool, $jobId, $lane, $body, $now, $now, $client, $round, $isSmall, $deliveries)`,
    ),
    anyOf: database.prepare('SELECT 1 FROM orders WHERE pool = ? AND client = ? LIMIT 1'),
    // Orders that name no client are not known to be one client's.
    isOneOf: database.prepare("SELECT 1 FROM orders WHERE pool = ? AND client = ? AND client <> '' LIMIT 1 OFFSET 1"),
    lastOf: database.prepare('SELECT max(round) AS round FROM orders WHERE pool = ? AND client = ? AND lane = ?'),
    round: database.prepare('SELECT round FROM rounds WHERE pool = ? AND lane = ?'),
    enter: database.prepare(
      'INSERT INTO rounds (pool, lane, round) VALUES (?, ?, max(0, ?)) ON CONFLICT (pool, lane) DO UPDATE SET round = max(round, excluded.round)',
    ),
    waits: database.prepare(
      'SELECT 1 FROM orders INDEXED BY orders_by_lane WHERE pool = ? AND lane = ? AND visible_at <= ? ORDER BY number LIMIT 1',
    ),
    nextInTurn: database.prepare(NEXT.inTurn),
    nextOldest: database.prepare(NEXT.oldest),
    nextExpress: database.prepare(NEXT.express),
    fresh: database.prepare(NEXT.fresh),
    take: database.prepare(
      'UPDATE orders SET token = ?, visible_at = ?, deliveries = deliveries + 1 WHERE number = ? RETURNING body, deliveries, client',
    ),
    soonest: database.prepare('SELECT min(visible_at) AS at FROM orders WHERE pool = ? AND visible_at > ?'),
    any: database.prepare('SELECT 1 FROM orders WHERE pool = ? LIMIT 1'),
    extend: database.prepare('UPDATE orders SET visible_at = ? WHERE number = ? AND token = ?'),
    release: database.prepare('UPDATE orders SET token = NULL, visible_at = ? WHERE number = ? AND token = ?'),
    done: database.prepare('DELETE FROM orders WHERE number = ? AND token = ?'),
    takeOut: database.prepare('DELETE FROM orders WHERE number = ? AND token = ? RETURNING client, deliveries'),
    remove: database.prepare('DELETE FROM orders WHERE pool = ? AND job_id = ?'),
    depth: database.prepare(
      `SELECT count(*) FILTER (WHERE waits) AS waiting, count(*) FILTER (WHERE NOT waits) AS held, min(published_at) FILTER (WHERE waits) AS oldest
       FROM (SELECT published_at, token IS NULL OR visible_at <= ? AS waits FROM orders WHERE pool = ?)`,
    ),
  };
  if (exclusive) database.prepare('UPDATE orders SET token = NULL, visible_at = ?').run(clock());
  /** Emits the event of a pool when an order in it may have become available. */
  const wake = new EventEmitter().setMaxListeners(0);
  const wakePool = (pool: string) => void wake.emit(eventOf(pool));

  /** The current round of a lane. */
  const roundOf = (pool: string, lane: Lane): number => Number(sql.round.get(pool, lane)?.['round'] ?? 0);

  /** The round of a client's next order. A client without orders in the pool goes before the current round. */
  function turnOf(pool: string, lane: Lane, client: string): number {
    const now = roundOf(pool, lane);
    if (client !== '' && sql.anyOf.get(pool, client) === undefined) return now - 1;
    const last = sql.lastOf.get(pool, client, lane)?.['round'];
    return typeof last === 'number' ? Math.max(last + 1, now) : now;
  }

  interface Publication extends OrderFacts {
    readonly round: number;
    readonly deliveries?: number;
  }
  function insert(order: Order, { client = '', isSmall = false, round, deliveries = 0 }: Publication): void {
    const { pool, jobId, lane } = order;
    sql.publish.run({ pool, jobId, lane, body: JSON.stringify(order), now: clock(), client, round, isSmall: Number(isSmall), deliveries });
  }

  /** Orders taken so far, by lane. */
  const taken = new Map<string, number>();

  function takeNext(
    pool: string,
    lane: Lane,
    { token, express }: { readonly token: string; readonly express: boolean },
  ): { number: number; body: string; deliveries: number; client: string } | undefined {
    const line = `${pool} ${lane}`;
    const count = (taken.get(line) ?? 0) + 1;
    return database.atomically(() => {
      const now = clock();
      const oldestFirst = !express && count % OLDEST_EVERY === 0;
      const which = express ? sql.nextExpress : oldestFirst ? sql.nextOldest : sql.nextInTurn;
      const next = which.get({ pool, lane, now });
      if (next === undefined) return undefined;
      const number = Number(next['number']);
      const row = sql.take.get(token, now + ACK_WAIT_MS, number);
      // An order taken before its turn does not advance the lane: new orders would otherwise queue behind its round.
      if (!oldestFirst) sql.enter.run(pool, lane, Number(next['round']));
      taken.set(line, count);
      return { number, body: String(row?.['body']), deliveries: Number(row?.['deliveries']), client: String(row?.['client']) };
    });
  }

  function takeFrom(pool: string, lane: Lane, express: boolean): Delivery | undefined {
    // This check needs no lock: pulls that find nothing must not queue up for the one writer.
    const waits = () => (express ? sql.nextExpress.get({ pool, lane, now: clock() }) : sql.waits.get(pool, lane, clock())) !== undefined;
    while (waits()) {
      const token = randomUUID();
      const row = takeNext(pool, lane, { token, express });
      // Another process took it first.
      if (row === undefined) continue;
      const order = orderIn(row.body);
      if (order !== undefined)
        return delivery(order, { number: row.number, token, redelivered: row.deliveries > 1, express, client: row.client });
      sql.release.run(clock() + HAND_BACK_MS, row.number, token);
    }
    return undefined;
  }

  interface Taken extends Pick<Delivery, 'redelivered'> {
    readonly number: number;
    readonly token: string;
    readonly express: boolean;
    readonly client: string;
  }
  function delivery(order: Order, { number, token, redelivered, express, client }: Taken): Delivery {
    const { pool } = order;
    return {
      order,
      redelivered,
      async isWaitedFor() {
        const query = express ? sql.nextExpress : sql.fresh;
        return lanes.some((lane) => query.get({ pool, lane, now: clock() }) !== undefined);
      },
      async isOneOfSeveral() {
        return sql.isOneOf.get(pool, client) !== undefined;
      },
      async giveWay() {
        database.atomically(() => {
          const row = sql.takeOut.get(number, token);
          if (row === undefined) return;
          const client = String(row['client']);
          const last = sql.lastOf.get(pool, client, 'bulk')?.['round'];
          const round = Math.max(roundOf(pool, 'bulk'), typeof last === 'number' ? last + 1 : 0);
          insert({ ...order, lane: 'bulk' }, { client, round, deliveries: Number(row['deliveries']) });
        });
        wakePool(pool);
      },
      async extend() {
        return sql.extend.run(clock() + ACK_WAIT_MS, number, token).changes === 0 ? 'gone' : 'held';
      },
      async release(delayMs) {
        sql.release.run(clock() + delayMs, number, token);
        wakePool(pool);
      },
      async done() {
        sql.done.run(number, token);
      },
    };
  }

  /** How long a pull may sleep before it must check again, ms; `Infinity`: until it is woken. */
  function patience(pool: string): number {
    const soonest = sql.soonest.get(pool, clock())?.['at'];
    const mostMs = exclusive ? POLL_ALONE_MS : POLL_MS;
    if (typeof soonest === 'number') return Math.max(1, Math.min(mostMs, soonest - clock()));
    return exclusive && sql.any.get(pool) === undefined ? Number.POSITIVE_INFINITY : mostMs;
  }

  async function pullFrom(
    pool: string,
    from: { readonly lanes: readonly Lane[]; readonly express: boolean },
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Delivery | undefined> {
    const until = performance.now() + waitMs;
    while (database.isOpen && signal?.aborted !== true) {
      for (const lane of from.lanes) {
        const taken = takeFrom(pool, lane, from.express);
        if (taken !== undefined) return taken;
      }
      const left = until - performance.now();
      if (left <= 0) return undefined;
      await woken(wake, eventOf(pool), Math.min(left, patience(pool)), signal);
    }
    return undefined;
  }

  return {
    async publish(order, { client = '', isSmall = false } = {}) {
      const answer = database.atomically(() => {
        if (sql.has.get(order.pool, order.jobId) !== undefined) return 'duplicate';
        if (Number(sql.count.get(order.pool)?.['orders']) >= capacity) return 'full';
        insert(order, { client, isSmall, round: turnOf(order.pool, order.lane, client) });
        return 'accepted';
      });
      if (answer === 'accepted') wakePool(order.pool);
      return answer;
    },

    pull: (pool, from, waitMs, signal) => pullFrom(pool, { lanes: from, express: false }, waitMs, signal),

    pullExpress: (pool, waitMs, signal) => pullFrom(pool, { lanes, express: true }, waitMs, signal),

    async remove(pool, jobId) {
      sql.remove.run(pool, jobId);
    },

    async has(pool, jobId) {
      return sql.has.get(pool, jobId) !== undefined;
    },

    async jobs(pool) {
      return new Set(sql.jobs.all(pool).map((row) => String(row['job_id'])));
    },

    async depth(pool) {
      const now = clock();
      const row = sql.depth.get(now, pool);
      const oldest = row?.['oldest'];
      return {
        waiting: Number(row?.['waiting']),
        held: Number(row?.['held']),
        oldestMs: typeof oldest === 'number' ? now - oldest : undefined,
      };
    },

    /** Waiting pulls end without an order. */
    async close() {
      if (database.isOpen) database.close();
      for (const name of wake.eventNames()) wake.emit(name);
    },
  };
}

/** An EventEmitter throws on an event named `error` without a listener: no pool's event may have that name. */
const eventOf = (pool: string): string => `pool ${pool}`;

/** Undefined for an order of a newer version, and for a damaged one, which a newer worker may be able to read. */
function orderIn(body: string): Order | undefined {
  try {
    const read = Order.safeParse(JSON.parse(body));
    return read.success && read.data.version <= ORDER_VERSION ? read.data : undefined;
  } catch {
    return undefined;
  }
}

/** Resolves on the event, after `ms`, or when aborted, whichever comes first, and leaves no listener behind. */
function woken(emitter: EventEmitter, event: string, ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let unsubscribe = () => {};
  // Removed immediately: a pull that was already woken must not be woken instead of another.
  const end = () => {
    clearTimeout(timer);
    emitter.off(event, end);
    unsubscribe();
    resolve();
  };
  const timer = setTimeout(end, ms);
  emitter.on(event, end);
  unsubscribe = onAbort(signal, end);
  return promise;
}
