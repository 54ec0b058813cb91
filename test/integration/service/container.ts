/** A pod's container as a runtime would start it, but without an image: this machine's programs, read-only, and nothing to write to but its volume. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkout } from '../../kit/roles/service.ts';

export interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: { readonly fieldRef?: object } }[];
  readonly securityContext: { readonly readOnlyRootFilesystem: boolean };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface PodSpec {
  readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number; readonly fsGroup: number };
  readonly containers: readonly Container[];
  readonly volumes: readonly { readonly name: string; readonly emptyDir?: object }[];
}

/** Where the image would have the project. */
const APP = '/app';
const PROGRAMS = ['usr', 'bin', 'sbin', 'lib', 'lib64', 'etc', 'var', 'opt'];

/** `$1` becomes the root; then `uid gid fsGroup ro|rw volume…  -- command…` */
const SCRIPT = `
set -eu
root=$1 uid=$2 gid=$3 group=$4 mode=$5
shift 5
mount --make-rprivate /
mount -t tmpfs -o mode=755 root "$root"
for name in ${PROGRAMS.join(' ')}; do
  if [ -L "/$name" ]; then cp -P "/$name" "$root/$name"
  elif [ -d "/$name" ]; then mkdir "$root/$name"; mount --bind "/$name" "$root/$name"; mount -o "remount,bind,$mode" "$root/$name"
  fi
done
for name in proc sys dev; do mkdir "$root/$name"; mount --rbind "/$name" "$root/$name"; done
mkdir -p "$root/tmp" "$root${APP}"
mount --bind '${checkout}' "$root${APP}"
mount -o "remount,bind,$mode" "$root${APP}"
while [ "$1" != -- ]; do
  mkdir -p "$root$1"
  mount -t tmpfs -o "mode=2777,gid=$group" volume "$root$1"
  shift
done
shift
mount -o "remount,$mode" "$root"
exec chroot "$root" setpriv --reuid "$uid" --regid "$gid" --groups "$group" --no-new-privs --bounding-set=-all --inh-caps=-all env -i "$@"
`;

/**
 * Needs root, and mount namespaces.
 * @param folder an empty one
 * @param environment over the container's own: what this machine has only one of
 */
export async function containerCommand(
  folder: string,
  podName: string,
  { securityContext, containers: [container], volumes }: PodSpec,
  environment: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  if (container === undefined) throw new Error('the pod has no container');
  const script = join(folder, '..', 'container.sh');
  await writeFile(script, SCRIPT);
  const { runAsUser, runAsGroup, fsGroup } = securityContext;
  const isEmpty = (name: string) => volumes.some((volume) => volume.name === name && volume.emptyDir !== undefined);
  const writable = container.volumeMounts.filter(({ name }) => isEmpty(name)).map(({ mountPath }) => mountPath);
  const variables = {
    PATH: '/usr/bin:/bin',
    // The pod's name is the only field that a variable takes; what it may use of this machine is not limited.
    ...Object.fromEntries(
      container.env.map(({ name, value = '', valueFrom }) => [name, valueFrom?.fieldRef === undefined ? value : podName]),
    ),
    ...environment,
  };
  return [
    ...['unshare', '--mount', 'sh', script, folder, String(runAsUser), String(runAsGroup), String(fsGroup)],
    ...[container.securityContext.readOnlyRootFilesystem ? 'ro' : 'rw', ...writable, '--'],
    ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    ...[`${APP}/scripts/filemill`, ...container.args],
  ];
}
