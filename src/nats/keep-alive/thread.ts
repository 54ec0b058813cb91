/** The thread that holds orders and sends heartbeats for a blocked one. Ends the process if that one stays blocked. */
import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { ANSWER_MS, type ConnectionSettings, connectNats, type Nats } from '../connection.ts';
import { nakFor } from '../pull.ts';
import { type KeptAlive, type MessageHold, monotonicMs, type ToThread } from './messages.ts';

const TICK_MS = 1_000;
/** A worker publishes a heartbeat every 5 s: after this long without one, its last is repeated, ms. */
const SILENT_MS = 6_000;
/** A message is extended from here once this share of its ack wait is left: its holder does so much earlier, unless it is late. */
const LEFT = 0.8;

const { connection, pulse, stallMs } = workerData as KeptAlive;
const holds = new Map<number, MessageHold>();
let nats: Nats | undefined;
let lastHeartbeat: { readonly subject: string; readonly text: string; at: number } | undefined;

parentPort?.on('message', (message: ToThread) => {
  if (message.do === 'hold') holds.set(message.id, message);
  else if (message.do === 'drop') holds.delete(message.id);
  else lastHeartbeat = message.subject === '' ? undefined : { ...message, at: monotonicMs() };
});

/**
 * Does not extend a message whose time is up: it may have another holder by then. The new time counts from when it was
 * sent, and is dropped if the message was released, or extended by its holder, meanwhile.
 */
async function extend({ core }: Nats, { ack, ackWaitMs, until }: MessageHold): Promise<void> {
  const seen = Atomics.load(until, 0);
  const asked = monotonicMs();
  const left = Number(seen) - asked;
  if (left <= 0 || left > ackWaitMs * LEFT) return;
  await core.request(ack, nakFor(ackWaitMs), { timeout: ANSWER_MS });
  if (monotonicMs() < Number(seen)) Atomics.compareExchange(until, 0, seen, BigInt(asked + ackWaitMs));
}

function sendDue(client: Nats): void {
  for (const [id, hold] of holds) {
    if (Number(Atomics.load(hold.until, 0)) <= monotonicMs()) holds.delete(id);
    // The next tick retries, while there is time.
    void extend(client, hold).catch(() => {});
  }
  if (lastHeartbeat === undefined || monotonicMs() - lastHeartbeat.at < SILENT_MS || !client.isConnected()) return;
  lastHeartbeat.at = monotonicMs();
  client.core.publish(lastHeartbeat.subject, lastHeartbeat.text);
}

/** Counted in ticks of this thread: a stopped process does not count as blocked. */
let blockedMs = 0;
let lastPulse = Atomics.load(pulse, 0);
setInterval(() => {
  const now = Atomics.load(pulse, 0);
  blockedMs = now === lastPulse ? blockedMs + TICK_MS : 0;
  lastPulse = now;
  if (blockedMs >= stallMs) {
    writeSync(2, `filemill has done nothing for ${stallMs / 1000} s and exits: other workers take its orders\n`);
    process.kill(process.pid, 'SIGKILL');
  }
  if (nats !== undefined) sendDue(nats);
}, TICK_MS);

while (nats === undefined) {
  nats = await connectNats(connection as ConnectionSettings).catch(() => undefined);
  if (nats === undefined) await pause(TICK_MS);
}
parentPort?.postMessage('ready');
