/** What every queue must hold to, whatever keeps it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lanes, ORDER_VERSION, type Order } from '../../src/contracts/messages/order.ts';
import { ACK_WAIT_MS, type Delivery, type Queue } from '../../src/queue/queue.ts';
import { anOrder } from './samples.ts';

export interface QueueHarness {
  /** Room for `CAPACITY` orders a pool. */
  readonly queue: Queue;
  /** A second process's view of the same queue; the first was not closed, as after a crash. */
  reopen(): Promise<Queue>;
  /** Lets this much time pass for deliveries and delays, ms. */
  elapse(ms: number): Promise<void>;
  /** Until all that was published shows to pulls: which lane has something is not known everywhere at once. */
  readonly settled?: () => Promise<void>;
  close(): Promise<void>;
}

export const CAPACITY = 120;

const ids = (orders: readonly Order[]) => orders.map(({ jobId }) => jobId);

/** Longer than any test may last: a pull that returns did not run into it. */
const LONG = 600_000;

export function queueSuite(name: string, open: () => Promise<QueueHarness>): void {
  describe(`the queue in ${name}`, () => {
    let harness: QueueHarness;
    let queue: Queue;
    beforeEach(async () => {
      harness = await open();
      queue = harness.queue;
    });
    afterEach(() => harness.close());

    /** The next order, which must be there. */
    const take = async (from: Queue = queue, pool = 'image'): Promise<Delivery> => {
      const delivery = await from.pull(pool, lanes, LONG);
      if (delivery === undefined) throw new Error('no order came');
      return delivery;
    };
    const nothing = (from: Queue = queue, pool = 'image') => from.pull(pool, lanes, 0);

    describe('an order', () => {
      it('waits, is held, and is gone when done', async () => {
        const order = anOrder();
        expect(await queue.publish(order)).toBe('accepted');
        expect(await queue.depth('image')).toMatchObject({ waiting: 1, held: 0 });
        const delivery = await take();
        expect(delivery).toMatchObject({ order, redelivered: false });
        expect(await queue.depth('image')).toEqual({ waiting: 0, held: 1, oldestMs: undefined });
        expect(await queue.has('image', order.jobId)).toBe(true);
        await delivery.done();
        expect(await queue.depth('image')).toEqual({ waiting: 0, held: 0, oldestMs: undefined });
        expect(await queue.has('image', order.jobId)).toBe(false);
      });

      it('is a duplicate while it waits and while it is held, and welcome again after that', async () => {
        const order = anOrder();
        await queue.publish(order);
        expect(await queue.publish(order)).toBe('duplicate');
        const delivery = await take();
        expect(await queue.publish(order)).toBe('duplicate');
        expect(await nothing()).toBeUndefined();
        await delivery.done();
        expect(await queue.publish(order)).toBe('accepted');
      });

      it('published by many at once is accepted once', async () => {
        const order = anOrder();
        const other = await harness.reopen();
        const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? queue : other).publish(order)));
        expect(answers.filter((answer) => answer === 'accepted')).toHaveLength(1);
        expect(answers.filter((answer) => answer === 'duplicate')).toHaveLength(19);
      });

      it('of a newer version is left to a newer worker and holds up no other', async () => {
        const newer = anOrder({ version: ORDER_VERSION + 1 });
        const order = anOrder();
        await queue.publish(newer);
        await queue.publish(order);
        expect((await take()).order).toEqual(order);
        expect(await nothing()).toBeUndefined();
        await harness.elapse(ACK_WAIT_MS + 1);
        expect((await take()).order).toEqual(order);
        expect(await queue.has('image', newer.jobId)).toBe(true);
      });
    });

    it('tells of all jobs of a pool at once which have an order, waiting or held', async () => {
      const orders = Array.from({ length: 30 }, () => anOrder());
      for (const order of orders) await queue.publish(order);
      await queue.publish(anOrder({ pool: 'media' }));
      const held = await take();
      expect(await queue.jobs('image')).toEqual(new Set(orders.map(({ jobId }) => jobId)));
      await held.done();
      const left = orders.filter(({ jobId }) => jobId !== held.order.jobId);
      expect(await queue.jobs('image')).toEqual(new Set(left.map(({ jobId }) => jobId)));
      for (const { jobId } of left) await queue.remove('image', jobId);
      expect(await queue.jobs('image')).toEqual(new Set());
    });

    describe('a pool', () => {
      const fill = async (pool: string) => {
        for (let n = 0; n < CAPACITY; n++) expect(await queue.publish(anOrder({ pool }))).toBe('accepted');
      };

      it('that is full stores nothing, and the others go on', async () => {
        await fill('image');
        const refused = anOrder();
        expect(await queue.publish(refused)).toBe('full');
        expect(await queue.has('image', refused.jobId)).toBe(false);
        expect(await queue.depth('image')).toMatchObject({ waiting: CAPACITY });
        expect(await queue.publish(anOrder({ pool: 'media' }))).toBe('accepted');
        expect((await take(queue, 'media')).order.pool).toBe('media');
      });

      it('that is full still knows a duplicate, and has room again when one is done', async () => {
        await fill('image');
        const delivery = await take();
        expect(await queue.publish(delivery.order)).toBe('duplicate');
        expect(await queue.publish(anOrder())).toBe('full');
        await delivery.done();
        expect(await queue.publish(anOrder())).toBe('accepted');
      });

      it('that is full has room again when one is removed, waiting or held', async () => {
        await fill('image');
        const held = await take();
        await queue.remove('image', held.order.jobId);
        expect(await queue.publish(anOrder())).toBe('accepted');
        expect(await queue.publish(anOrder())).toBe('full');
        const waiting = await take();
        await waiting.release(0);
        await queue.remove('image', waiting.order.jobId);
        expect(await queue.publish(anOrder())).toBe('accepted');
      });

      it('that many fill at once takes as many as it has room for', async () => {
        const other = await harness.reopen();
        const answers = await Promise.all(Array.from({ length: CAPACITY + 30 }, (_, n) => (n % 2 ? queue : other).publish(anOrder())));
        expect(answers.filter((answer) => answer === 'accepted')).toHaveLength(CAPACITY);
        expect(answers.filter((answer) => answer === 'full')).toHaveLength(30);
        expect(await queue.depth('image')).toMatchObject({ waiting: CAPACITY });
      });

      it('never gets the orders of another', async () => {
        await queue.publish(anOrder({ pool: 'media' }));
        expect(await nothing()).toBeUndefined();
      });

      it('tells how long its oldest order has waited', async () => {
        await queue.publish(anOrder());
        await harness.elapse(5_000);
        await queue.publish(anOrder());
        const { waiting, oldestMs } = await queue.depth('image');
        expect(waiting).toBe(2);
        expect(oldestMs).toBeGreaterThanOrEqual(5_000);
        await take();
        expect((await queue.depth('image')).oldestMs).toBeLessThan(5_000);
      });
    });

    describe('lanes', () => {
      it('are asked in the order given, first come first served in each', async () => {
        const [slow1, slow2] = [anOrder({ lane: 'bulk' }), anOrder({ lane: 'bulk' })];
        const [quick1, quick2] = [anOrder(), anOrder()];
        for (const order of [slow1, slow2, quick1, quick2]) await queue.publish(order);
        await harness.settled?.();
        const pulled = [];
        for (const asked of [
          ['interactive', 'bulk'],
          ['bulk', 'interactive'],
          ['interactive', 'bulk'],
          ['interactive', 'bulk'],
        ] as const) {
          pulled.push((await queue.pull('image', asked, LONG))?.order);
        }
        expect(pulled).toEqual([quick1, slow1, quick2, slow2]);
      });

      it('that were not asked for are left alone', async () => {
        await queue.publish(anOrder({ lane: 'bulk' }));
        expect(await queue.pull('image', ['interactive'], 0)).toBeUndefined();
        expect(await queue.depth('image')).toMatchObject({ waiting: 1, held: 0 });
      });
    });

    describe('clients', () => {
      const publish = async (client: string, count: number, change: Partial<Order> = {}): Promise<Order[]> => {
        const orders = Array.from({ length: count }, () => anOrder(change));
        for (const order of orders) expect(await queue.publish(order, { client })).toBe('accepted');
        return orders;
      };
      const published = async () => harness.settled?.();

      it('get their own orders in the order of publication, though orders of others come between', async () => {
        const mine: Order[] = [];
        for (let n = 0; n < 12; n++) {
          mine.push(...(await publish('mine', 1)));
          await publish('other', 1);
        }
        await published();
        const pulled: string[] = [];
        for (let n = 0; n < 24; n++) {
          const delivery = await take();
          pulled.push(delivery.order.jobId);
          await delivery.done();
        }
        expect(pulled.filter((jobId) => ids(mine).includes(jobId))).toEqual(ids(mine));
      });

      it('that come while others have many waiting are next', async () => {
        for (let n = 0; n < 10; n++) await publish(`crowd ${n}`, 10);
        await published();
        // The crowd's first ones are under way.
        for (let n = 0; n < 20; n++) await (await take()).done();
        const [single] = await publish('single', 1);
        await published();
        const pulled = [];
        for (let n = 0; n < 2; n++) pulled.push((await take()).order);
        expect(pulled).toContainEqual(single);
      });

      it('with a few orders do not wait for one with many', async () => {
        await publish('many', 60);
        const few = await publish('few', 5);
        await published();
        const pulled = [];
        for (let n = 0; n < 20; n++) {
          const delivery = await take();
          pulled.push(delivery.order.jobId);
          await delivery.done();
        }
        expect(pulled).toEqual(expect.arrayContaining(ids(few)));
      });

      it('that hold all slots for long are passed over while another waits', async () => {
        const many = await publish('many', 40);
        await published();
        const held = [await take(), await take(), await take()];
        const others = [];
        for (const client of ['a', 'b', 'c']) others.push(...(await publish(client, 1)));
        await published();
        // One slot becomes free, and again.
        for (let n = 0; n < 3; n++) {
          const delivery = await take();
          expect(ids(others)).toContain(delivery.order.jobId);
          await delivery.done();
        }
        expect(ids(many)).toContain((await take()).order.jobId);
        expect(ids(many)).toEqual(expect.arrayContaining(held.map(({ order }) => order.jobId)));
      });

      it('are all served in the end', async () => {
        const orders = (await Promise.all(Array.from({ length: 5 }, (_, n) => publish(`client ${n}`, 4 * n)))).flat();
        await published();
        const pulled = [];
        for (let n = 0; n < orders.length; n++) {
          const delivery = await take();
          pulled.push(delivery.order.jobId);
          await delivery.done();
        }
        expect(pulled.toSorted()).toEqual(ids(orders).toSorted());
        expect(await nothing()).toBeUndefined();
      });

      it('share within a lane: the other lane does not become first by it', async () => {
        await publish('many', 20);
        await publish('single', 1, { lane: 'bulk' });
        await published();
        for (let n = 0; n < 20; n++) {
          const delivery = await take();
          expect(delivery.order.lane).toBe('interactive');
          await delivery.done();
        }
        expect((await take()).order.lane).toBe('bulk');
      });

      it('that order a job again, or none, leave it one order', async () => {
        const [first] = await publish('many', 20);
        const [last] = (await publish('many', 1)) as [Order];
        for (const order of [first as Order, last]) {
          expect(await queue.publish(order)).toBe('duplicate');
          expect(await queue.publish(order, { client: 'many' })).toBe('duplicate');
          expect(await queue.publish(order, { client: 'other' })).toBe('duplicate');
        }
        expect(await queue.depth('image')).toMatchObject({ waiting: 21, held: 0 });
        expect(await queue.has('image', last.jobId)).toBe(true);
        await queue.remove('image', last.jobId);
        expect(await queue.has('image', last.jobId)).toBe(false);
        expect((await queue.jobs('image')).size).toBe(20);
      });
    });

    describe('an express slot', () => {
      const express = (from: Queue = queue) => from.pullExpress('image', 0);
      const publish = async (client: string, isSmall = true, change: Partial<Order> = {}): Promise<Order> => {
        const order = anOrder(change);
        expect(await queue.publish(order, { client, isSmall })).toBe('accepted');
        await harness.settled?.();
        return order;
      };

      it('gets the small order of a client that holds none, from either lane', async () => {
        const orders = [await publish('a'), await publish('b', true, { lane: 'bulk' })];
        const pulled = [await express(), await express()].map((delivery) => delivery?.order.jobId);
        expect(pulled.toSorted()).toEqual(ids(orders).toSorted());
        expect(await express()).toBeUndefined();
      });

      it('gets no large order, and none of a client that holds one', async () => {
        await publish('large', false);
        await publish('busy');
        await (await express())?.extend();
        await publish('busy');
        expect(await express()).toBeUndefined();
        expect(await queue.depth('image')).toMatchObject({ waiting: 2, held: 1 });
      });

      it('gets none that was delivered before and gave way', async () => {
        await publish('a');
        await (await take()).giveWay();
        expect(await express()).toBeUndefined();
        expect(await take()).toBeDefined();
      });

      it('waits for an order', async () => {
        const pulled = queue.pullExpress('image', LONG);
        const order = await publish('a');
        expect((await pulled)?.order).toEqual(order);
      });

      it('ends when aborted, and takes nothing with it', async () => {
        const stop = new AbortController();
        const pulled = queue.pullExpress('image', LONG, stop.signal);
        stop.abort();
        expect(await pulled).toBeUndefined();
        const order = await publish('a');
        expect((await take()).order).toEqual(order);
      });
    });

    describe('a job that runs long', () => {
      const publish = async (client: string, isSmall: boolean): Promise<Order> => {
        const order = anOrder();
        expect(await queue.publish(order, { client, isSmall })).toBe('accepted');
        await harness.settled?.();
        return order;
      };

      it('is waited for by a client that holds none, and not by its own', async () => {
        await publish('mine', false);
        const held = await take();
        expect(await held.isWaitedFor()).toBe(false);
        await publish('mine', false);
        expect(await held.isWaitedFor()).toBe(false);
        await publish('other', false);
        expect(await held.isWaitedFor()).toBe(true);
      });

      it('is one of several while its client has another, waiting or held', async () => {
        await publish('mine', false);
        const only = await take();
        expect(await only.isOneOfSeveral()).toBe(false);
        await publish('other', false);
        expect(await only.isOneOfSeveral()).toBe(false);
        const more = await publish('mine', false);
        const [first, second] = [await take(), await take()];
        const several = [first, second].find(({ order }) => order.jobId === more.jobId);
        const others = [first, second].filter((delivery) => delivery !== several);
        expect(await several?.isOneOfSeveral()).toBe(true);
        expect(await Promise.all(others.map((each) => each.isOneOfSeveral()))).toEqual([false]);
        // The one that was its only one when it was taken, too.
        expect(await only.isOneOfSeveral()).toBe(true);
        await several?.done();
        expect(await only.isOneOfSeveral()).toBe(false);
      });

      it('in an express slot is waited for by small orders alone', async () => {
        await publish('mine', true);
        const held = await queue.pullExpress('image', LONG);
        await publish('large', false);
        expect(await held?.isWaitedFor()).toBe(false);
        await publish('small', true);
        expect(await held?.isWaitedFor()).toBe(true);
      });

      it('is not waited for by what gave way itself', async () => {
        await publish('a', true);
        await publish('b', true);
        const [first, second] = [await take(), await take()];
        await first.giveWay();
        expect(await second.isWaitedFor()).toBe(false);
      });

      it('gives way to all that waits, and comes then', async () => {
        const long = await publish('mine', true);
        const held = await take();
        const others = [await publish('a', true), await publish('b', false), await publish('mine', true)];
        await held.giveWay();
        await harness.settled?.();
        const pulled: Delivery[] = [];
        for (let n = 0; n < 4; n++) pulled.push(await take());
        expect(ids(pulled.slice(0, 3).map(({ order }) => order)).toSorted()).toEqual(ids(others).toSorted());
        expect(pulled[3]?.order).toEqual({ ...long, lane: 'bulk' });
        // It is one order as before.
        expect(await queue.depth('image')).toMatchObject({ waiting: 0, held: 4 });
        await pulled[3]?.done();
        expect(await queue.has('image', long.jobId)).toBe(false);
      });

      it('gives way no more when it has lost its order', async () => {
        await publish('mine', true);
        const held = await take();
        await harness.elapse(ACK_WAIT_MS + 1);
        const heir = await take();
        await held.giveWay();
        expect(await heir.extend()).toBe('held');
        expect(await nothing()).toBeUndefined();
      });
    });

    describe('a holder', () => {
      it('that says nothing for the ack wait loses its order to the next', async () => {
        await queue.publish(anOrder());
        const old = await take();
        await harness.elapse(ACK_WAIT_MS + 1);
        // Whether it counts as held until it is handed out again is the server's affair: it is there once.
        const { waiting, held } = await queue.depth('image');
        expect(waiting + held).toBe(1);
        const heir = await take();
        expect(heir).toMatchObject({ order: old.order, redelivered: true });
        expect(await old.extend()).toBe('gone');
        await old.done();
        await old.release(0);
        expect(await nothing()).toBeUndefined();
        expect(await heir.extend()).toBe('held');
      });

      it('that extends keeps its order for any time', async () => {
        await queue.publish(anOrder());
        const delivery = await take();
        for (let n = 0; n < 4; n++) {
          await harness.elapse((ACK_WAIT_MS * 2) / 3);
          expect(await delivery.extend()).toBe('held');
          expect(await nothing()).toBeUndefined();
        }
      });

      it('that releases hands the order on after the delay', async () => {
        await queue.publish(anOrder());
        const first = await take();
        await first.release(5_000);
        expect(await nothing()).toBeUndefined();
        expect(await queue.has('image', first.order.jobId)).toBe(true);
        await harness.elapse(5_001);
        expect(await take()).toMatchObject({ order: first.order, redelivered: true });
        expect(await first.extend()).toBe('gone');
      });

      it('hears that its order was removed, and the job may be ordered again', async () => {
        const order = anOrder();
        await queue.publish(order);
        const delivery = await take();
        await queue.remove('image', order.jobId);
        expect(await delivery.extend()).toBe('gone');
        expect(await queue.has('image', order.jobId)).toBe(false);
        expect(await queue.publish(order)).toBe('accepted');
        await delivery.done();
        expect((await take()).order).toEqual(order);
      });
    });

    it('removes a waiting order, and what is not there without error', async () => {
      const order = anOrder();
      await queue.publish(order);
      await queue.remove('image', order.jobId);
      await queue.remove('image', order.jobId);
      expect(await nothing()).toBeUndefined();
    });

    describe('a waiting pull', () => {
      it('is woken by a publication', async () => {
        const pulled = take();
        const order = anOrder();
        await queue.publish(order);
        expect((await pulled).order).toEqual(order);
      });

      it("gets another process's publication too", async () => {
        const other = await harness.reopen();
        const pulled = take();
        const order = anOrder();
        await other.publish(order);
        expect((await pulled).order).toEqual(order);
      });

      it('is woken by a release', async () => {
        await queue.publish(anOrder());
        const delivery = await take();
        const pulled = take();
        await delivery.release(0);
        expect(await pulled).toMatchObject({ order: delivery.order, redelivered: true });
      });

      it('gets an order whose holder went silent meanwhile', async () => {
        await queue.publish(anOrder());
        const { order } = await take();
        const pulled = take();
        await harness.elapse(ACK_WAIT_MS + 1);
        expect(await pulled).toMatchObject({ order, redelivered: true });
      });

      it('ends without an order when none comes in time', async () => expect(await queue.pull('image', lanes, 20)).toBeUndefined());

      it('ends when aborted, and takes nothing with it', async () => {
        const stop = new AbortController();
        const pulled = queue.pull('image', lanes, LONG, stop.signal);
        stop.abort();
        const order = anOrder();
        await queue.publish(order);
        expect(await pulled).toBeUndefined();
        // It may have been handed to the pull and have come back: what counts is that it comes.
        expect((await take()).order).toEqual(order);
      });

      it('that was aborted before it began takes nothing', async () => {
        await queue.publish(anOrder());
        expect(await queue.pull('image', lanes, LONG, AbortSignal.abort())).toBeUndefined();
        expect(await queue.depth('image')).toMatchObject({ waiting: 1 });
      });

      it('is one of a hundred, and each gets its own order', async () => {
        const other = await harness.reopen();
        const pulls = Array.from({ length: 100 }, (_, n) => take(n % 2 === 0 ? queue : other));
        const orders = Array.from({ length: 100 }, () => anOrder());
        await Promise.all(orders.map((order) => queue.publish(order)));
        const pulled = (await Promise.all(pulls)).map(({ order }) => order.jobId);
        expect(pulled.toSorted()).toEqual(orders.map(({ jobId }) => jobId).toSorted());
      });
    });

    describe('a process that dies', () => {
      const steps: Record<string, (delivery: () => Promise<Delivery>) => Promise<unknown>> = {
        'after publishing': async () => {},
        'after pulling': (pull) => pull(),
        'after extending': async (pull) => (await pull()).extend(),
        'after giving back': async (pull) => (await pull()).release(1_000),
      };
      for (const [when, die] of Object.entries(steps)) {
        it(`${when} leaves the order to another`, async () => {
          const order = anOrder();
          await queue.publish(order);
          await die(() => take());
          const other = await harness.reopen();
          expect(await other.publish(order)).toBe('duplicate');
          await harness.elapse(ACK_WAIT_MS + 1);
          const delivery = await take(other);
          expect(delivery.order).toEqual(order);
          await delivery.done();
          expect(await nothing(other)).toBeUndefined();
        });
      }

      it('after saying done leaves nothing', async () => {
        await queue.publish(anOrder());
        await (await take()).done();
        const other = await harness.reopen();
        await harness.elapse(ACK_WAIT_MS + 1);
        expect(await nothing(other)).toBeUndefined();
      });
    });
  });
}
