/** What custom resources have in common: group and version, the envelope, and conditions as the Kubernetes API conventions shape them. */
import { z } from 'zod';

export const GROUP = 'filemill.io';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Kubernetes counts in 32 bits. */
export const MAX_COUNT = 2 ** 31 - 1;
export const count = z.number().int().min(0).max(MAX_COUNT);

/** As Kubernetes writes it, or in another form of RFC 3339. */
export const time = z.iso.datetime({ offset: true });

/** @param must what the API server answers to a text of another shape, where it would else show the expression */
export const shaped = (maxLength: number, shape: RegExp, must: string) =>
  z
    .string()
    .max(maxLength)
    .regex(shape)
    .meta({ 'x-kubernetes-validations': [{ rule: `self.matches(r'${shape.source}')`, message: must }] });

/** The server's part of a resource, as far as a controller reads it; the rest stays as it came. */
const Metadata = z.looseObject({
  name: z.string(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  generation: z.number().int().optional(),
  resourceVersion: z.string().optional(),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  finalizers: z.array(z.string()).optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});

export const Condition = z.object({
  type: z.string().min(1).max(316).describe('Type of the condition, in CamelCase'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether the condition holds'),
  observedGeneration: z.number().int().min(0).optional().describe('Generation of the resource that was judged'),
  lastTransitionTime: time.describe('When `status` last changed'),
  reason: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .describe('Why, as a code for programs'),
  message: z.string().max(32_768).describe('Why, in a sentence for people'),
});
export type Condition = z.infer<typeof Condition>;

/** At most one of each type; each writer owns those that it applies. */
export const Conditions = z
  .array(Condition)
  .max(16)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] });

/** What the API server gives a resource that no controller has seen: tools that follow kstatus then wait, and do not take it for finished. */
export const UNSEEN = { observedGeneration: -1 } as const;
export const observedGeneration = z.number().int().min(-1).describe('Generation of the spec that this status describes; -1: none yet');

/**
 * A whole object as the API server gives it; one just created has no status.
 * @param name what it may be called, where that is less than Kubernetes allows
 */
export const resource = <Kind extends string, Spec extends z.ZodType, Status extends z.ZodType>(
  kind: Kind,
  spec: Spec,
  status: Status,
  name: z.ZodString = z.string(),
) =>
  z.object({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal(kind),
    metadata: Metadata.extend({ name }),
    spec: spec.describe('The desired state'),
    status: status.optional().meta({ default: UNSEEN }).describe('The state that the controller saw last'),
  });
