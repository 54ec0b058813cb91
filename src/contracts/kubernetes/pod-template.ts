/** What a pool adds to its workers' pods, named as in a pod template: what keeps a worker confined, and what makes it one, is not among it. */
import { z } from 'zod';

const name = z.string().min(1).max(253);
/** Anything that Kubernetes accepts here: it validates when a worker's Job is created. */
const passedThrough = z.looseObject({});

/** Set by the controller, or undoing what it sets, or ways into the process itself. */
const RESERVED = [
  ...[
    'WORKER_NAME',
    'SETTINGS',
    'CONFIG_FILE',
    'MEMORY_LIMIT',
    'WORK_DIR_LIMIT',
    'POOL',
    'TOOLCHAIN',
    'DATA_DIR',
    'WORK_DIR',
    'METRICS_PORT',
  ],
  ...['PATH', 'NODE_OPTIONS', 'LD_PRELOAD', 'LD_LIBRARY_PATH'],
];
/** Volumes that every worker has. */
const OWN_VOLUMES = ['work', 'nats', 'config'];
/** Elsewhere a volume could lie over programs, the launcher among them, or over what they work on. */
const MAY_HOLD_VOLUMES = /^\/(mnt|etc\/ssl|usr\/share\/fonts|usr\/local\/share)(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$/;

const listed = (names: readonly string[]): string => names.map((one) => `'${one}'`).join(', ');

const EnvVar = z.object({
  name: z.string().min(1).max(253).describe('Name of the variable'),
  value: z.string().max(4_096).optional().describe('Its value'),
  valueFrom: passedThrough.optional().describe('Where its value comes from, such as a secretKeyRef, as in a PodSpec'),
});

const VolumeMount = z.object({
  name: z.string().min(1).max(63).describe('Name of the volume'),
  mountPath: z
    .string()
    .max(253)
    .regex(MAY_HOLD_VOLUMES)
    .meta({
      'x-kubernetes-validations': [
        {
          rule: `self.matches(r'${MAY_HOLD_VOLUMES.source}')`,
          message: 'must lie below /mnt, /etc/ssl, /usr/share/fonts or /usr/local/share, as others hold programs and work',
        },
      ],
    })
    .describe('Path in the container: below /mnt, /etc/ssl, /usr/share/fonts or /usr/local/share'),
  subPath: z.string().max(253).optional().describe('Path inside the volume'),
  readOnly: z.boolean().optional().describe('Whether it is mounted read-only'),
});

/** No files of the node, and no token of an account. */
const Volume = z.object({
  name: z.string().min(1).max(63).describe('Name of the volume in the pod'),
  configMap: passedThrough.optional().describe('A ConfigMap, as in a PodSpec'),
  secret: passedThrough.optional().describe('A Secret, as in a PodSpec'),
  emptyDir: passedThrough.optional().describe('An empty folder, as in a PodSpec'),
  persistentVolumeClaim: passedThrough.optional().describe('A claim, as in a PodSpec'),
  csi: passedThrough.optional().describe('A volume of a CSI driver, as in a PodSpec'),
});

/** What pods run as: where a cluster assigns users, none is named. */
const SecurityContext = z.object({
  runAsUser: z.number().int().min(1).optional().describe('User of the processes, by number'),
  runAsGroup: z.number().int().min(1).optional().describe('Group of the processes, by number'),
  fsGroup: z.number().int().min(1).optional().describe('Group that may read the volumes, by number'),
  fsGroupChangePolicy: z.enum(['Always', 'OnRootMismatch']).optional().describe('When the group of files in volumes is changed'),
  supplementalGroups: z
    .array(z.number().int().min(1))
    .max(16)
    .meta({ 'x-kubernetes-list-type': 'atomic' })
    .optional()
    .describe('More groups of the processes'),
  seLinuxOptions: passedThrough.optional().describe('SELinux context, as in a PodSpec'),
});

const annotations = (description: string) =>
  z.record(z.string().max(317), z.string().max(4_096)).meta({ maxProperties: 32 }).optional().describe(description);

const Container = z.object({
  name: z
    .literal('worker')
    .meta({ enum: ['worker'] })
    .describe('The one container of the pod: worker'),
  env: z
    .array(EnvVar)
    .max(64)
    .meta({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      'x-kubernetes-validations': [
        { rule: `!self.exists(one, one.name in [${listed(RESERVED)}])`, message: `these names are taken: ${RESERVED.join(', ')}` },
      ],
    })
    .optional()
    .describe('Variables in the environment of the worker; its converters get none of them'),
  volumeMounts: z
    .array(VolumeMount)
    .max(16)
    .meta({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['mountPath'],
      'x-kubernetes-validations': [
        {
          rule: `!self.exists(one, one.name in [${listed(OWN_VOLUMES)}])`,
          message: `these volumes are the worker's own: ${OWN_VOLUMES.join(', ')}`,
        },
      ],
    })
    .optional()
    .describe('Where the volumes are mounted'),
});

export const PodTemplate = z.object({
  metadata: z
    .object({
      labels: z
        .record(z.string().max(317), z.string().max(63))
        .meta({
          maxProperties: 32,
          'x-kubernetes-validations': [
            {
              rule: "!self.exists(key, key.startsWith('filemill.io/') || key.startsWith('app.kubernetes.io/') || key.startsWith('batch.kubernetes.io/') || key in ['job-name', 'controller-uid'])",
              message: 'labels of filemill.io, app.kubernetes.io and batch.kubernetes.io are set by controllers',
            },
          ],
        })
        .optional()
        .describe('Labels, beside those by which workers are known'),
      annotations: annotations('Annotations, in addition to those that tell node autoscalers which pods may be evicted'),
    })
    .optional()
    .describe('Metadata of each pod'),
  spec: z
    .object({
      serviceAccountName: name.optional().describe('ServiceAccount that workers run as; none of its tokens is mounted'),
      securityContext: SecurityContext.optional().describe(
        'User and groups, instead of 10001; an empty object sets none, for clusters that assign them. Never root, and always with the default seccomp profile',
      ),
      schedulerName: name.optional().describe('Scheduler, as in a PodSpec'),
      dnsPolicy: z
        .enum(['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'])
        .optional()
        .describe('How names are resolved, as in a PodSpec'),
      dnsConfig: passedThrough.optional().describe('More of how names are resolved, as in a PodSpec'),
      hostAliases: z
        .array(
          z.object({
            ip: z.string().max(45).describe('Address'),
            hostnames: z.array(z.string().max(253)).max(32).meta({ 'x-kubernetes-list-type': 'atomic' }).describe('Its names'),
          }),
        )
        .max(32)
        .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['ip'] })
        .optional()
        .describe('Names and their addresses, as in a PodSpec'),
      volumes: z
        .array(Volume)
        .max(16)
        .meta({
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          'x-kubernetes-validations': [
            {
              rule: `!self.exists(one, one.name in [${listed(OWN_VOLUMES)}])`,
              message: `these volumes are the worker's own: ${OWN_VOLUMES.join(', ')}`,
            },
          ],
        })
        .optional()
        .describe('Volumes, beside those that every worker has'),
      containers: z
        .array(Container)
        .max(1)
        .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
        .optional()
        .describe('Additions to the container `worker`'),
    })
    .optional()
    .describe('Spec of each pod'),
});
export type PodTemplate = z.infer<typeof PodTemplate>;
