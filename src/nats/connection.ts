/** A process's connection to NATS: it reconnects by itself, and every call over it has a time limit. */
import { setTimeout as pause } from 'node:timers/promises';
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { ClosedConnectionError, ConnectionError, connect, createInbox, credsAuthenticator, type NatsConnection, TimeoutError } from 'nats';
import { innermostCause } from '../errors.ts';
import { type KeepAlive, openKeepAlive } from './keep-alive/keep-alive.ts';
import { monotonicMs } from './keep-alive/messages.ts';
import { isNatsTransient, Unavailable } from './unavailable.ts';
import { watchServer } from './watch.ts';

export interface Nats {
  readonly core: NatsConnection;
  readonly manager: JetStreamManager;
  readonly client: JetStreamClient;
  /** Sends our heartbeats and holds our orders while this thread is blocked; undefined without `keepsAlive`. */
  readonly keepAlive: KeepAlive | undefined;
  /**
   * Calls a function, and repeats the call while no server can answer it: it must be safe to repeat.
   * @param what is done, for the log
   * @param patienceMs how long to repeat it; 0 for a call that must not be repeated
   * @throws Unavailable if it has not succeeded after `patienceMs`; any other error unchanged
   */
  withRetry<T>(what: string, call: () => Promise<T>, patienceMs?: number): Promise<T>;
  /**
   * The same for a read that must find what others were told is stored. Asked again when the server may have been frozen: such a server still
   * answers with what it had stored before others elected a leader in its place. Needs `readsStrongly`.
   */
  readStrongly<T>(what: string, read: () => Promise<T>): Promise<T>;
  /** A subject that no other process subscribes to. */
  newInbox(): string;
  /** While false, published hints would only pile up. */
  isConnected(): boolean;
  /** Calls back after a reconnect: messages published in the meantime were missed. @returns unsubscribe */
  onReconnect(callback: () => void): () => void;
  close(): Promise<void>;
}

export interface ConnectionSettings {
  /** `host:port` of one or more servers of one cluster. */
  readonly servers: readonly string[];
  /** Name of the connection, as the servers show it. */
  readonly name: string;
  /** Text of a credentials file. */
  readonly credentials?: string;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** PEM files, read at each connection, so that certificates can be rotated; undefined: TLS if the server asks for it. */
  readonly tls?: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string } | undefined;
  /** Prefix of the reply subjects; a role's permissions may allow only its own. */
  readonly inbox?: string;
  /** Whether a second thread extends the messages that this one holds. */
  readonly keepsAlive?: boolean;
  /** Whether to ping the server often, so as to notice that it was frozen. Not for workers: there may be thousands of them. */
  readonly readsStrongly?: boolean;
  /** Interval of the client's own pings, by which it detects a silent server, ms. */
  readonly pingMs?: number;
}

/** Time limit of one response of a server, ms: they take milliseconds. */
export const ANSWER_MS = 2_500;
/**
 * How long a call is repeated, ms: replicas notice after 4 to 9 s that their leader is dead (nats-server, server/raft.go), and callers
 * should not notice. A client still waits when this is over.
 */
export const RETRY_MS = 15_000;
/** Longest wait between two attempts, ms. */
const PAUSE_MS = 250;
/**
 * A connection that leaves two of these unanswered is dead, ms: half-open ones would swallow orders. A frozen server keeps its clients for
 * three times as long at most, about what its followers take to elect another leader. While our own loop is held no ping goes out either.
 */
const PING_MS = 2_000;
/** How often a read is asked whose server may have been frozen, and how long it waits until that is no longer in doubt, ms. */
const STRONG_TRIES = 3;
const DOUBT_MS = 2_000;
const DOUBT_LOOK_MS = 100;

/**
 * Connects as `connectNats` does, and asks a server that does not answer again. One that refuses the connection, or these credentials, would
 * refuse them again.
 * @throws Unavailable
 */
export async function connectPatiently(patienceMs: number, settings: ConnectionSettings): Promise<Nats> {
  for (const until = performance.now() + patienceMs; ; ) {
    try {
      return await connectNats(settings);
    } catch (error) {
      if (!(innermostCause(error) instanceof TimeoutError) || performance.now() > until) throw error;
    }
  }
}

/** @throws Unavailable if no server accepts the connection */
export async function connectNats(settings: ConnectionSettings): Promise<Nats> {
  const { servers, name, credentials, user, password, tls, inbox, keepsAlive = false, readsStrongly = false, pingMs = PING_MS } = settings;
  const core = await connect({
    servers: [...servers],
    name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: PAUSE_MS,
    reconnectJitter: PAUSE_MS,
    pingInterval: pingMs,
    maxPingOut: 2,
    timeout: ANSWER_MS,
    // The client would try the one that it has just lost first: frozen, that takes the connection and says nothing.
    reconnectToServer: (servers) => servers.reduce((oldest, server) => (server.lastConnect < oldest.lastConnect ? server : oldest)),
    noAsyncTraces: true,
    ...(credentials !== undefined && { authenticator: credsAuthenticator(new TextEncoder().encode(credentials)) }),
    ...(user !== undefined && { user, pass: password ?? '' }),
    ...(tls !== undefined && { tls }),
    ...(inbox !== undefined && { inboxPrefix: inbox }),
  }).catch((cause: unknown) => {
    throw new Unavailable('to connect to NATS', cause);
  });
  // The first call shows whether JetStream is enabled: a check now would also fail during a leader election.
  const manager = await jetstreamManager(core, { checkAPI: false, timeout: ANSWER_MS });
  const client = jetstream(core, { timeout: ANSWER_MS });

  const keepAlive = keepsAlive ? openKeepAlive({ ...settings, name: `${name}, keep-alive`, keepsAlive: false }) : undefined;

  let connected = true;
  const reconnectListeners = new Set<() => void>();
  const watching = (async () => {
    for await (const { type } of core.status()) {
      if (type === 'disconnect') connected = false;
      if (type !== 'reconnect') continue;
      connected = true;
      for (const callback of reconnectListeners) {
        try {
          callback();
        } catch {
          // A callback that throws must neither skip the others nor end this process.
        }
      }
    }
  })();

  async function withRetry<T>(what: string, call: () => Promise<T>, patienceMs = RETRY_MS): Promise<T> {
    const until = performance.now() + patienceMs;
    for (let wait = PAUSE_MS / 8; ; wait = Math.min(PAUSE_MS, wait * 2)) {
      try {
        if (core.isClosed()) throw new ClosedConnectionError();
        // A request sent now would be buffered, and executed after its caller has given up.
        if (!connected) throw new ConnectionError('no server is connected');
        return await call();
      } catch (error) {
        if (!isNatsTransient(error)) throw error;
        if (core.isClosed() || performance.now() + wait >= until) throw new Unavailable(what, error);
      }
      await pause(wait * (0.5 + Math.random() / 2));
    }
  }

  const onReconnect = (callback: () => void): (() => void) => {
    const own = () => callback();
    reconnectListeners.add(own);
    return () => void reconnectListeners.delete(own);
  };
  const watch = readsStrongly ? watchServer(core, onReconnect) : undefined;

  return {
    core,
    manager,
    client,
    keepAlive,
    isConnected: () => connected && !core.isClosed(),

    newInbox: () => createInbox(inbox),

    withRetry,

    async readStrongly(what, read) {
      for (let tries = 1; ; tries++) {
        const beganAt = monotonicMs();
        const found = await withRetry(what, read);
        if (watch === undefined || watch.isSure(beganAt) || tries === STRONG_TRIES) return found;
        // Waits before it asks again: where this process was held up, many reads are in doubt at once.
        for (const until = monotonicMs() + DOUBT_MS; monotonicMs() < until && !watch.isSure(monotonicMs()); ) await pause(DOUBT_LOOK_MS);
      }
    },

    onReconnect,

    async close() {
      watch?.close();
      await keepAlive?.close();
      await core.close();
      await watching;
    },
  };
}
