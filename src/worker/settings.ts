/** What an operator may set of workers. */

import { z } from 'zod';
import { poolName } from '../contracts/messages/pool.ts';
import { toolchains } from '../contracts/toolchains.ts';

/** Upper bound of durations, s: timers count at most 2^31 ms, and longer runs will not end. */
const DAY = 86_400;

const residentSettings = z.strictObject({
  perLife: z
    .number()
    .int()
    .min(1)
    .default(200)
    .describe(
      'Conversions after which a resident program (libvips, Chromium) is replaced; 1: none is used twice. LibreOffice always reads each file in a separate process',
    ),
  leakBytes: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe(
      "Memory of a resident program, with all its processes, above which it is replaced after its conversion, bytes. Unset: 1 GiB, or with `worker.limitBytes` a quarter of its slot's share",
    ),
  modelSeconds: z
    .number()
    .min(0)
    .max(DAY)
    .default(300)
    .describe(
      'How long a slot keeps the AI model that it used last loaded, s: its memory, and that of a GPU, is free when the model was not used for so long, or another one is needed. 0: not at all',
    ),
});

const sharingSettings = z.strictObject({
  express: z
    .boolean()
    .default(true)
    .describe(
      'Whether each pool of a process has one more slot than `worker.slots` says, for a small file (1 MiB at most) of a client that holds no other slot while all slots are busy',
    ),
  expressSeconds: z
    .number()
    .min(0.1)
    .max(DAY)
    .default(3)
    .describe('How long a job may run in the express slot before it gives way to another one that waits for that slot, s'),
  severalSeconds: z
    .number()
    .min(0.1)
    .max(DAY)
    .default(3)
    .describe(
      'How long a job of a client that has others in the pool may run before it gives way if a client waits that holds no slot, s; a second longer for each MiB of its files. After that `giveWaySeconds` count',
    ),
  giveWaySeconds: z
    .number()
    .min(0.1)
    .max(DAY)
    .default(10)
    .describe(
      'How long any other job may run, outside the express slot, before it gives way if a client waits that holds none, s; a second longer for each MiB of its files. It is stopped, waits behind the others, starts again, and may run twice as long each time',
    ),
});

/** @param cores of this machine; the default number of slots of each pool */
export const workerSettings = (cores: number) =>
  z.strictObject({
    dir: z
      .string()
      .optional()
      .describe(
        'Folder in which conversions run. Unset: in the data folder, or in /var/tmp where converters cannot access the data folder',
      ),
    models: z
      .string()
      .optional()
      .describe('Folder with models beside those that came with filemill: one folder for each, as `filemill models pull --into` makes it'),
    pool: poolName.optional().describe('The pool whose orders the role `worker` takes'),
    toolchain: z
      .enum(toolchains)
      .optional()
      .describe(
        'Toolchain installed with the role `worker`, which refuses to start if its pool has another. Unset: the toolchain of the pool',
      ),
    name: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,63}$/)
      .optional()
      .describe('Name of a process of the role `worker`, such as the name of its pod. Unset: its host name and process id'),
    metricsPort: z.coerce
      .number()
      .int()
      .min(0)
      .max(65_535)
      .default(0)
      .describe('TCP port of the role `worker` for /metrics, /livez and /readyz; 0: none'),
    poolWaitMs: z
      .number()
      .int()
      .min(0)
      .default(60_000)
      .describe('How long the role `worker` waits at its start until its pool is declared, ms'),
    idleSeconds: z
      .number()
      .int()
      .min(0)
      .max(DAY)
      .default(3600)
      .describe('A process of the role `worker` ends after so long without an order, give or take a fifth, s; 0: never'),
    conversionsPerWorker: z
      .number()
      .int()
      .min(0)
      .default(0)
      .describe('Orders after which a process of the role `worker` ends, to be replaced by a new one; 0: any number'),
    withoutLandlock: z
      .boolean()
      .default(false)
      .describe('Run converters even if the kernel has no Landlock: they can then read files of other users'),
    toolchains: z
      .array(z.enum(toolchains))
      .min(1)
      .optional()
      .describe('Toolchains that the role `local` serves, as if the programs of all others were not installed. Unset: all'),
    slots: z
      .partialRecord(z.enum(toolchains), z.number().int().min(0).max(256))
      .default({})
      .transform(
        (given) =>
          ({ ...Object.fromEntries(toolchains.map((pool) => [pool, cores])), ...given }) as Record<(typeof toolchains)[number], number>,
      )
      .describe('Conversions at a time, by toolchain. Unset: the number of cores of the machine'),
    memoryBytes: z
      .number()
      .int()
      .min(64 << 20)
      .optional()
      .describe(
        "Memory limit of one conversion, all its processes together, bytes. Unset: 2 GiB, or with `worker.limitBytes` three quarters of its slot's share",
      ),
    limitBytes: z.coerce
      .number()
      .int()
      .min(1)
      .optional()
      .describe(
        'Memory that the worker and all programs it starts may use, such as the limit of its pod, bytes: 256 MiB are for the worker itself, the rest is divided among its slots',
      ),
    dirBytes: z.coerce
      .number()
      .int()
      .min(1)
      .optional()
      .describe(
        "Most that the work folder may hold, such as the size of a pod's volume, bytes: seven eighths of it are divided among the slots, and a conversion that needs more than its share fails alone. Unset: each may write 2 GiB",
      ),
    maxSeconds: z.number().int().min(1).max(DAY).default(600).describe('Longest run time of one step of a conversion, s'),
    mediaMaxSeconds: z.number().int().min(1).max(DAY).default(3600).describe('The same for audio and video, s'),
    minFreeBytes: z
      .number()
      .int()
      .min(0)
      .default(256 << 20)
      .describe('Free space in the work folder below which a worker takes no orders, bytes; 0: not checked'),
    minFreeInodes: z
      .number()
      .int()
      .min(0)
      .default(1_000)
      .describe('Free inodes in its file system below which a worker takes no orders; 0: not checked'),
    partial: z
      .boolean()
      .default(false)
      .describe(
        'Whether a worker that lacks programs of its toolchain takes orders anyway; its pool then offers only what all of its workers can do',
      ),
    trials: z
      .boolean()
      .default(true)
      .describe(
        'Whether a worker tries every engine with a tiny file soon after its start, in idle slots, and offers only those that work. An engine that seems to fail on a file is tried in any case',
      ),
    modelThreads: z
      .number()
      .int()
      .min(1)
      .max(64)
      .optional()
      .describe(
        'Processors that an AI model computes on in each slot, where no GPU does. Unset: those of the machine, or that the CPU limit of the pod allows, divided by the slots, 16 at most; in a pod without a CPU limit, one',
      ),
    residents: residentSettings.prefault({}),
    sharing: sharingSettings.prefault({}),
    drainMs: z
      .number()
      .int()
      .min(0)
      .default(8_000)
      .describe('How long running conversions may continue after SIGTERM or Ctrl-C before their orders go back to the queue, ms'),
  });
export type WorkerSettings = z.infer<ReturnType<typeof workerSettings>>;
