/** ToolchainPool: workers of one toolchain, how many there may be, how they scale, and what nodes they run on. */
import { z } from 'zod';
import { poolName } from '../messages/pool.ts';
import { PodTemplate } from './pod-template.ts';
import { Conditions, count, observedGeneration, resource, shaped } from './resource.ts';
import { PoolToolchain } from './toolchain.ts';
import { namedObject, Quantity, workerPod } from './worker-pod.ts';

/** More Jobs than this in one pool have never been tried. */
const MAX_WORKERS = 5_000;
const DAY = 86_400;

const seconds = (min: number, max: number) => z.number().int().min(min).max(max);
const workers = z.number().int().min(0).max(MAX_WORKERS);

export const ToolchainPoolSpec = z
  .object({
    toolchain: PoolToolchain.optional().describe("The toolchain of its workers. Unset: the pool's name, which must then be one of these"),
    image: shaped(512, /^\S+$/, 'must be a reference to an image, without white space').describe("The toolchain's container image"),
    capacity: workers
      .default(10)
      .describe(
        'Most workers at a time; 0 drains the pool. Written by `kubectl scale` and by autoscalers: leave it out of the applied manifest in that case',
      ),
    standby: workers.default(0).describe('Idle workers kept ready beyond those that have work'),
    conversionsPerWorker: z
      .number()
      .int()
      .min(1)
      .max(10_000)
      .default(100)
      .describe('Conversions after which a worker ends and a fresh one may follow; 1: every conversion gets a fresh worker'),
    slots: z.number().int().min(1).max(64).default(1).describe('Conversions that a worker holds at a time'),
    targetWaitSeconds: seconds(1, 3_600)
      .default(10)
      .describe('How long a conversion should wait for a worker at most, s: a shorter time creates more workers'),
    idleSeconds: seconds(0, DAY).default(300).describe('How long fewer workers must have been enough before some are retired, s'),
    maxSeconds: seconds(1, DAY).optional().describe("Run time of one conversion, s; the toolchain's own limit if unset"),
    terminationGraceSeconds: seconds(1, DAY).default(120).describe('How long a stopping worker may take to finish its conversions, s'),
    paused: z
      .boolean()
      .default(false)
      .describe(
        'Takes no new conversions, and its workers stay; they process the waiting ones, which keep waiting if there are no workers',
      ),
    preference: z
      .number()
      .int()
      .min(-1_000)
      .max(1_000)
      .default(0)
      .describe('Among pools that can serve a conversion, the one with the lowest value is chosen'),
    natsSecretRef: namedObject('Name of a Secret in this namespace').describe(
      'Credentials of workers for NATS: NATS_USER and NATS_PASSWORD, or NATS_CREDS, in their environment',
    ),
    configMapRef: namedObject('Name of a ConfigMap in this namespace')
      .optional()
      .describe('Configuration of workers: its key filemill.yaml'),
    workDirSize: Quantity.prefault('4Gi').describe(
      'Maximum size of the work folder of a worker, as a quantity; requested of its node, unless resources name ephemeral-storage',
    ),
    ...workerPod,
    template: PodTemplate.optional().describe("Additions to its workers' pods, as in the template of a Deployment"),
  })
  .meta({
    'x-kubernetes-validations': [
      {
        // A later change of scale may go below: a drain, or an autoscaler, must not be refused for a standby that others chose.
        rule: 'self.standby <= self.capacity || oldSelf.?standby.optMap(before, before == self.standby).orValue(false)',
        optionalOldSelf: true,
        message: 'standby must not exceed capacity',
        fieldPath: '.standby',
      },
      {
        rule: 'self.slots <= self.conversionsPerWorker',
        message: 'slots must not exceed conversionsPerWorker: a worker holds no more conversions than it may do',
        fieldPath: '.slots',
      },
    ],
  });
export type ToolchainPoolSpec = z.infer<typeof ToolchainPoolSpec>;

export const ToolchainPoolStatus = z.object({
  workers: count.optional().describe('Live workers: their pods are neither finished nor lost'),
  idle: count.optional().describe('Workers without a conversion'),
  busy: count.optional().describe('Workers with at least one'),
  queued: count.optional().describe('Conversions that wait for a worker'),
  running: count.optional().describe('Conversions that workers hold'),
  oldestQueuedSeconds: count.optional().describe('Age of the oldest waiting conversion, s'),
  desired: count.optional().describe('Workers that the pool should have'),
  selector: z.string().max(1_024).optional().describe("Labels of the workers' pods, for autoscalers and `kubectl get pods -l`"),
  reportedTemplate: z
    .string()
    .max(63)
    .optional()
    .describe('Label `filemill.io/template` of the workers that reported their engines last: a template that no worker has tried gets one'),
  observedGeneration: observedGeneration.optional(),
  conditions: Conditions.optional().describe('Ready, Reconciling, Stalled, Progressing, Degraded, NameContested and CredentialsMissing'),
});
export type ToolchainPoolStatus = z.infer<typeof ToolchainPoolStatus>;

/** In CEL, of either `self` or `oldSelf`: what `toolchainOf` returns. */
const toolchainIn = (pool: string) => `(has(${pool}.spec.toolchain) ? ${pool}.spec.toolchain : ${pool}.metadata.name)`;

export const ToolchainPool = resource(
  'ToolchainPool',
  ToolchainPoolSpec,
  ToolchainPoolStatus,
  poolName.describe('Part of subjects, and of the names of Jobs'),
)
  .meta({
    'x-kubernetes-validations': [
      {
        rule: `${toolchainIn('self')} in [${PoolToolchain.options.map((name) => `'${name}'`).join(', ')}]`,
        message: `toolchain is required, unless the pool has the name of a toolchain: ${PoolToolchain.options.join(', ')}`,
        fieldPath: '.spec.toolchain',
      },
      {
        rule: `${toolchainIn('self')} == ${toolchainIn('oldSelf')}`,
        message: 'toolchain cannot be changed, as conversions for it may wait: make another pool',
        fieldPath: '.spec.toolchain',
      },
    ],
  })
  .describe('Workers of one toolchain: how many there may be, how they scale, and what nodes they run on');
export type ToolchainPool = z.infer<typeof ToolchainPool>;

/** The toolchain of its workers; undefined if neither field nor name has one, which the API server refuses. */
export const toolchainOf = ({ metadata, spec }: Pick<ToolchainPool, 'metadata' | 'spec'>): PoolToolchain | undefined =>
  spec.toolchain ?? PoolToolchain.safeParse(metadata.name).data;
