/** The thread that says in time what the held one cannot: orders in hand are worked on, and the worker is there. Ends the process when that is no longer true. */
import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { ANSWER_MS, connectNats, type Nats, type NatsSettings } from '../connection.ts';
import { type Hold, type KeptAlive, monotonicMs, type ToThread } from './messages.ts';

const TICK_MS = 1_000;
/** A worker speaks each 5 s: after this its last word is said for it, ms. */
const SILENT_MS = 6_000;
/** Share of its ack wait that a message has left when it is extended from here: its holder does so much earlier, unless it is late. */
const LEFT = 0.8;

const { connection, pulse, stallMs } = workerData as KeptAlive;
const holds = new Map<number, Hold>();
let nats: Nats | undefined;
let said: { readonly subject: string; readonly text: string; at: number } | undefined;

parentPort?.on('message', (words: ToThread) => {
  if (words.do === 'hold') holds.set(words.id, words);
  else if (words.do === 'drop') holds.delete(words.id);
  else said = words.subject === '' ? undefined : { ...words, at: monotonicMs() };
});

/**
 * Nothing is said of a message whose time is up: it may be another's by then. What the server heard counts from when it was sent, and not if
 * the message was let go, or extended by its holder, meanwhile.
 */
async function extend({ core }: Nats, { ack, ackWaitMs, until }: Hold): Promise<void> {
  const seen = Atomics.load(until, 0);
  const asked = monotonicMs();
  const left = Number(seen) - asked;
  if (left <= 0 || left > ackWaitMs * LEFT) return;
  await core.request(ack, '+WPI', { timeout: ANSWER_MS });
  if (monotonicMs() < Number(seen)) Atomics.compareExchange(until, 0, seen, BigInt(asked + ackWaitMs));
}

function speak(there: Nats): void {
  for (const [id, hold] of holds) {
    if (Number(Atomics.load(hold.until, 0)) <= monotonicMs()) holds.delete(id);
    // The next tick tries again, for as long as there is time.
    void extend(there, hold).catch(() => {});
  }
  if (said === undefined || monotonicMs() - said.at < SILENT_MS || !there.isConnected()) return;
  said.at = monotonicMs();
  there.core.publish(said.subject, said.text);
}

/** Counted in ticks of our own: while the whole process is stopped, nobody is held. */
let held = 0;
let beat = Atomics.load(pulse, 0);
setInterval(() => {
  const now = Atomics.load(pulse, 0);
  held = now === beat ? held + TICK_MS : 0;
  beat = now;
  if (held >= stallMs) {
    writeSync(2, `filemill has done nothing for ${stallMs / 1000} s and ends: its orders are for others\n`);
    process.kill(process.pid, 'SIGKILL');
  }
  if (nats !== undefined) speak(nats);
}, TICK_MS);

while (nats === undefined) {
  nats = await connectNats(connection as NatsSettings).catch(() => undefined);
  if (nats === undefined) await pause(TICK_MS);
}
parentPort?.postMessage('ready');
