/** What an operator may set of workers. */

import { z } from 'zod';
import { poolName } from '../contracts/messages/pool.ts';
import { toolchains } from '../contracts/toolchains.ts';

/** A timer counts 2^31 ms at most; what should take longer than this will not end, s. */
const DAY = 86_400;

const residentSettings = z.strictObject({
  perLife: z
    .number()
    .int()
    .min(1)
    .default(200)
    .describe('Conversions after which a warm program (LibreOffice, libvips) is replaced; 1: none is used twice'),
  leakBytes: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe(
      "Memory above which a warm program is replaced once its conversion has ended, with all its processes, bytes. Unset: 1 GiB, or with `worker.limitBytes` a quarter of its slot's share",
    ),
});

/** @param cores of this machine: one conversion of each pool at a time for each */
export const workerSettings = (cores: number) =>
  z.strictObject({
    dir: z
      .string()
      .optional()
      .describe('Folder in which conversions work. Unset: in the data folder, or in /var/tmp where converters cannot reach that'),
    pool: poolName.optional().describe('The one pool that the role `worker` takes orders of'),
    toolchain: z
      .enum(toolchains)
      .optional()
      .describe('What is installed beside the role `worker`; it does not start where its pool is of another. Unset: as the pool says'),
    name: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,63}$/)
      .optional()
      .describe('What a process of the role `worker` is called, as its pod. Unset: by its machine and process'),
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
      .describe('How long the role `worker` waits at its start for its pool to be declared, ms'),
    idleSeconds: z
      .number()
      .int()
      .min(0)
      .max(DAY)
      .default(3600)
      .describe('A process of the role `worker` that has had no order for so long ends, give or take a fifth, s; 0: never'),
    conversionsPerWorker: z
      .number()
      .int()
      .min(0)
      .default(0)
      .describe('Orders after which a process of the role `worker` ends, for a fresh one to follow; 0: none'),
    withoutLandlock: z
      .boolean()
      .default(false)
      .describe('Run converters even where the kernel has no Landlock: they can then read files of others'),
    slots: z
      .partialRecord(z.enum(toolchains), z.number().int().min(0).max(256))
      .default({})
      .transform(
        (given) =>
          ({ ...Object.fromEntries(toolchains.map((pool) => [pool, cores])), ...given }) as Record<(typeof toolchains)[number], number>,
      )
      .describe('Conversions at a time, by toolchain; as many as the machine has cores'),
    memoryBytes: z
      .number()
      .int()
      .min(64 << 20)
      .optional()
      .describe(
        "Memory of one conversion, all its processes together, bytes. Unset: 2 GiB, or with `worker.limitBytes` three quarters of its slot's share",
      ),
    limitBytes: z.coerce
      .number()
      .int()
      .min(1)
      .optional()
      .describe(
        'Memory that the worker may use with everything that it starts, such as the limit of its pod, bytes: 256 MiB are its own, the rest is shared out to its slots',
      ),
    maxSeconds: z.number().int().min(1).max(DAY).default(600).describe('Run time of one step of a conversion, s'),
    mediaMaxSeconds: z.number().int().min(1).max(DAY).default(3600).describe('The same for audio and video, s'),
    minFreeBytes: z
      .number()
      .int()
      .min(0)
      .default(256 << 20)
      .describe('Room in the work folder below which a worker takes no orders, bytes; 0: it is not looked at'),
    minFreeInodes: z
      .number()
      .int()
      .min(0)
      .default(1_000)
      .describe('The same for the number of files that its file system still has room for'),
    partial: z
      .boolean()
      .default(false)
      .describe(
        'Whether a worker of a pool that lacks programs of its toolchain takes orders all the same; its pool then offers only what all of its workers can do',
      ),
    residents: residentSettings.prefault({}),
    drainMs: z
      .number()
      .int()
      .min(0)
      .default(8_000)
      .describe('How long running conversions may go on after SIGTERM or Ctrl-C before they are given back, ms'),
  });
export type WorkerSettings = z.infer<ReturnType<typeof workerSettings>>;
