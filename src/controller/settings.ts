/** Settings of the role `controller`. */
import { z } from 'zod';

export const controllerSettings = z.strictObject({
  kubeconfig: z.string().min(1).optional().describe('Path of a kubeconfig. Unset: the ServiceAccount of its pod'),
  serviceAccount: z.string().min(1).optional().describe("Folder with the pod's token, if it is not mounted at the usual path"),
  namespace: z.string().min(1).max(63).optional().describe('Namespace whose resources it reconciles. Unset: its own'),
  allNamespaces: z
    .boolean()
    .default(false)
    .describe('Reconciles the resources of every namespace: its ServiceAccount then needs a ClusterRole'),
  poolNamespaces: z
    .array(z.union([z.literal('*'), z.string().min(1).max(63)]))
    .min(1)
    .optional()
    .describe(
      'With `allNamespaces`, the namespaces that may hold ToolchainPools, whose names are unique within the service. `*`: all. Unset: only its own',
    ),
  lease: z.string().min(1).max(63).default('filemill-controller').describe('Name of the Lease for leader election'),
  workerNats: z.array(z.string().min(1)).min(1).optional().describe('NATS servers for workers, if not those of the controller'),
  jobsPerSecond: z.number().min(0.1).max(1000).default(20).describe('Kubernetes Jobs created per second, all pools together'),
  jobsBurst: z.number().int().min(1).max(10_000).default(50).describe('Kubernetes Jobs created in one burst after a quiet time'),
  silentSeconds: z
    .number()
    .int()
    .min(1)
    .max(86_400)
    .default(120)
    .describe("How long a worker's pod may run without a heartbeat over NATS before its pool is Degraded, s"),
  probesPort: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(8081)
    .describe('TCP port for /metrics, /livez and /readyz; 0 takes a free one'),
});
export type ControllerSettings = z.infer<typeof controllerSettings>;
