/** What an operator may set of the role `controller`. */
import { z } from 'zod';

export const controllerSettings = z.strictObject({
  kubeconfig: z.string().min(1).optional().describe('Path of a kubeconfig. Unset: as the pod that it runs in'),
  serviceAccount: z.string().min(1).optional().describe("Folder with the pod's token, where that is not where Kubernetes always mounts it"),
  namespace: z.string().min(1).max(63).optional().describe('Whose resources it works on. Unset: those of its own namespace'),
  allNamespaces: z
    .boolean()
    .default(false)
    .describe('Works on the resources of every namespace: its ServiceAccount then needs a ClusterRole'),
  poolNamespaces: z
    .array(z.union([z.literal('*'), z.string().min(1).max(63)]))
    .min(1)
    .optional()
    .describe(
      "With `allNamespaces`, where ToolchainPools are taken: their names are the whole service's. `*`: everywhere. Unset: in its own namespace alone",
    ),
  lease: z.string().min(1).max(63).default('filemill-controller').describe('Name of the Lease by which replicas elect the one that acts'),
  workerNats: z.array(z.string().min(1)).min(1).optional().describe('Where workers find NATS, if elsewhere than the controller'),
  jobsPerSecond: z.number().min(0.1).max(1000).default(20).describe('Kubernetes Jobs made a second, all pools together'),
  jobsBurst: z.number().int().min(1).max(10_000).default(50).describe('Kubernetes Jobs made at once after a quiet time'),
  silentSeconds: z
    .number()
    .int()
    .min(1)
    .max(86_400)
    .default(120)
    .describe('How long the pod of a worker may run without a word over NATS before its pool is Degraded, s'),
  probesPort: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(8081)
    .describe('TCP port for /metrics, /livez and /readyz; 0 takes a free one'),
});
export type ControllerSettings = z.infer<typeof controllerSettings>;
