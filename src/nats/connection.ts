/** The connection of a process to NATS: it comes back by itself, and nothing asked over it waits for ever. */
import { setTimeout as pause } from 'node:timers/promises';
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { ClosedConnectionError, ConnectionError, connect, createInbox, credsAuthenticator, type NatsConnection } from 'nats';
import { type KeepAlive, openKeepAlive } from './keep-alive/keep-alive.ts';
import { isTransient, Unavailable } from './unavailable.ts';

export interface Nats {
  readonly core: NatsConnection;
  readonly manager: JetStreamManager;
  readonly client: JetStreamClient;
  /** Speaks for us while this thread is held; undefined where nobody would wait for us. */
  readonly keepAlive: KeepAlive | undefined;
  /**
   * Makes a call, and makes it again while no server can answer it: it must be one that may be made twice.
   * @param what is done, for the log
   * @param patienceMs 0 for one that may not
   * @throws Unavailable when that has not ended after `patienceMs`; any other failure as it is
   */
  withRetry<T>(what: string, call: () => Promise<T>, patienceMs?: number): Promise<T>;
  /** A subject that nobody else listens to. */
  newInbox(): string;
  /** While not, hints would only pile up. */
  isConnected(): boolean;
  /** Calls back when the connection is there again: what was said meanwhile has been missed. @returns unsubscribe */
  onReconnect(callback: () => void): () => void;
  close(): Promise<void>;
}

export interface NatsSettings {
  /** `host:port` of one server or more of one cluster. */
  readonly servers: readonly string[];
  /** Shown by the servers. */
  readonly name: string;
  /** Text of a credentials file. */
  readonly credentials?: string;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** Files in PEM, read at each connection, so that a certificate may be replaced under us; undefined: TLS where the server asks for it. */
  readonly tls?: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string } | undefined;
  /** Where answers come in; permissions of a role may allow its own only. */
  readonly inbox?: string;
  /** Whether a thread keeps alive what this one holds. */
  readonly keepsAlive?: boolean;
}

/** How long one server has for one answer, ms: they come within milliseconds. */
export const ANSWER_MS = 2_500;
/**
 * How long a call is repeated, ms: replicas notice after 4 to 9 s that their leader is dead (nats-server, server/raft.go), and its death is to
 * pass unseen. A client still waits when this is over.
 */
export const RETRY_MS = 15_000;
/** Longest wait between two attempts, ms. */
const PAUSE_MS = 250;
/**
 * A connection that leaves two of these unanswered is dead, ms: half-open ones would swallow orders. A frozen server keeps its clients for
 * three times as long at most, about what its followers take to elect another leader. While our own loop is held no ping goes out either.
 */
const PING_MS = 2_000;

/** @throws Unavailable when no server takes the connection */
export async function connectNats(settings: NatsSettings): Promise<Nats> {
  const { servers, name, credentials, user, password, tls, inbox, keepsAlive = false } = settings;
  const core = await connect({
    servers: [...servers],
    name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: PAUSE_MS,
    reconnectJitter: PAUSE_MS,
    pingInterval: PING_MS,
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
  // Whether JetStream is there shows at the first call: asking now would fail where it is only between two leaders.
  const manager = await jetstreamManager(core, { checkAPI: false, timeout: ANSWER_MS });
  const client = jetstream(core, { timeout: ANSWER_MS });

  const keepAlive = keepsAlive ? openKeepAlive({ ...settings, name: `${name}, keep-alive`, keepsAlive: false }) : undefined;

  let connected = true;
  const returns = new Set<() => void>();
  const watching = (async () => {
    for await (const { type } of core.status()) {
      if (type === 'disconnect') connected = false;
      if (type !== 'reconnect') continue;
      connected = true;
      for (const callback of returns) {
        try {
          callback();
        } catch {
          // Whoever fails at its own news keeps it from nobody else, and cannot end this process.
        }
      }
    }
  })();

  return {
    core,
    manager,
    client,
    keepAlive,
    isConnected: () => connected && !core.isClosed(),

    newInbox: () => createInbox(inbox),

    async withRetry(what, call, patienceMs = RETRY_MS) {
      const until = performance.now() + patienceMs;
      for (let wait = PAUSE_MS / 8; ; wait = Math.min(PAUSE_MS, wait * 2)) {
        try {
          if (core.isClosed()) throw new ClosedConnectionError();
          // Sent now, it would wait in a buffer and be carried out after its caller has given up.
          if (!connected) throw new ConnectionError('no server is connected');
          return await call();
        } catch (error) {
          if (!isTransient(error)) throw error;
          if (core.isClosed() || performance.now() + wait >= until) throw new Unavailable(what, error);
        }
        await pause(wait * (0.5 + Math.random() / 2));
      }
    },

    onReconnect(callback) {
      const own = () => callback();
      returns.add(own);
      return () => void returns.delete(own);
    },

    async close() {
      await keepAlive?.close();
      await core.close();
      await watching;
    },
  };
}
