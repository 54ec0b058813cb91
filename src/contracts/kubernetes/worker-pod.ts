/** The fields of a pool that go into its workers' pods as they are: named, shaped and meant as in a Kubernetes PodSpec. */
import { z } from 'zod';

const name = z.string().min(1).max(253);
const text = z.string().max(253);

/** An object in the pool's namespace. */
export const namedObject = (description: string) => z.object({ name: name.describe(description) });

/** As Kubernetes reads it (pkg/api/resource/quantity.go), with a bounded number of digits. */
const QUANTITY = /^([0-9]{1,18}(\.[0-9]{0,9})?|\.[0-9]{1,9})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$/;

/**
 * `resource.Quantity` of Kubernetes, without signs: nothing here can be negative. A definition knows no type for texts and numbers, and
 * one for texts and whole numbers only would refuse `cpu: 0.5`: so there is none, and rules of CEL cannot see it.
 */
export const Quantity = z
  .union([z.number().min(0), z.string().regex(QUANTITY)])
  .transform(String)
  .meta({
    'x-kubernetes-preserve-unknown-fields': true,
    pattern: QUANTITY.source,
    maxLength: 32,
    minimum: 0,
    maxItems: 0,
    maxProperties: 0,
  });

/** Powers of ten and of two, as Kubernetes names them. */
const SUFFIXES: Readonly<Record<string, number>> = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
};

/** @param quantity that `Quantity` takes @returns in its unit, such as bytes */
export function amountOf(quantity: string): number {
  const [suffix = ''] = /[A-Za-z]{1,2}$/.exec(quantity) ?? [];
  // It takes an exponent, and stops at a suffix.
  return Number.parseFloat(quantity) * (SUFFIXES[suffix] ?? 1);
}

const quantities = z.record(z.string(), Quantity).meta({ maxProperties: 16 });
/** Anything that Kubernetes accepts here, in this version and later ones: it validates when a worker's Job is created. */
const passedThrough = z.looseObject({});

const Toleration = z.object({
  key: text.optional().describe('Key of the taint; unset with operator Exists: every taint'),
  operator: z.enum(['Exists', 'Equal', 'Lt', 'Gt']).optional().describe('How `value` is compared; Equal if unset'),
  value: text.optional().describe('Value of the taint'),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional().describe('Effect of the taint; every effect if unset'),
  tolerationSeconds: z.number().int().optional().describe('How long a NoExecute taint is tolerated, s; for ever if unset'),
});

/** A DNS label, as names of claims are. */
const label = z
  .string()
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);

const ResourceClaim = z
  .object({
    name: label.describe('Name that `resources.claims` uses for it'),
    resourceClaimTemplateName: name.optional().describe('ResourceClaimTemplate from which each worker gets a separate claim'),
    resourceClaimName: name.optional().describe('ResourceClaim that all workers share'),
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: 'has(self.resourceClaimTemplateName) != has(self.resourceClaimName)',
        message: 'name either a resourceClaimTemplateName or a resourceClaimName',
      },
    ],
  });

const TopologySpreadConstraint = z.looseObject({
  maxSkew: z.number().int().min(1).max(5000).describe('By how many workers two domains may differ'),
  topologyKey: name.describe('Label of nodes whose values are the domains'),
  whenUnsatisfiable: z.enum(['DoNotSchedule', 'ScheduleAnyway']).describe('What happens to a worker that would break the rule'),
});

export const workerPod = {
  imagePullPolicy: z
    .enum(['Always', 'IfNotPresent', 'Never'])
    .optional()
    .describe("When the image is pulled; Kubernetes' default if unset"),
  imagePullSecrets: z
    .array(namedObject('Name of a Secret in this namespace'))
    .max(16)
    .optional()
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
    .describe('Secrets with credentials for the registry of the image'),
  resources: z
    .object({
      requests: quantities.optional().describe('What a node must have free for a worker, by resource'),
      limits: quantities
        .optional()
        .describe(
          'What a worker may use at most, by resource; its slots share out the memory; nvidia.com/gpu, or what else a device plugin offers, asks for a device',
        ),
      claims: z
        .array(
          z.object({
            name: label.describe('One of `resourceClaims`'),
            request: label.optional().describe('One request of the claim; all of them if unset'),
          }),
        )
        .max(8)
        .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
        .optional()
        .describe('Claims of `resourceClaims` that the worker uses'),
    })
    .optional()
    .describe('Resources that a worker requests of its node'),
  resourceClaims: z
    .array(ResourceClaim)
    .max(8)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
    .optional()
    .describe('Claims on devices by dynamic resource allocation (DRA), as in a PodSpec'),
  nodeSelector: z
    .record(z.string(), z.string().max(63))
    .meta({ maxProperties: 32 })
    .optional()
    .describe('Labels of the nodes that workers may run on'),
  tolerations: z
    .array(Toleration)
    .max(32)
    .meta({ 'x-kubernetes-list-type': 'atomic' })
    .optional()
    .describe('Taints of nodes that workers may run on all the same'),
  affinity: passedThrough.optional().describe('Affinity of workers to nodes and other pods, as in a PodSpec'),
  topologySpreadConstraints: z
    .array(TopologySpreadConstraint)
    .max(8)
    .meta({ 'x-kubernetes-list-type': 'atomic' })
    .optional()
    .describe('How workers spread over zones or nodes, as in a PodSpec'),
  runtimeClassName: name.optional().describe('RuntimeClass of workers, such as gVisor, or one that brings the driver of a device'),
  priorityClassName: name.optional().describe('PriorityClass of workers: which pods go first if nodes are full'),
};
