/** ConversionJobs as the API server stores them, and the parts that this controller owns. */
import type { ConversionJobSpec, ConversionJobStatus } from '../../contracts/kubernetes/conversion-job.ts';
import { GROUP, VERSION } from '../../contracts/kubernetes/resource.ts';
import type { KubeObject, ObjectMeta, Resource } from '../../kube/resource.ts';

export const CONVERSION_JOBS: Resource = {
  group: GROUP,
  version: VERSION,
  plural: 'conversionjobs',
  kind: 'ConversionJob',
  namespaced: true,
};

/** What earlier versions kept a deleted resource with until its job had been cancelled: it is removed wherever it is found. */
export const FINALIZER = 'filemill.io/cancel';
/** Owns the whole status, and nothing else. */
export const MANAGER = 'filemill-conversionjobs';

export interface ConversionJobObject extends KubeObject {
  readonly spec: ConversionJobSpec;
  readonly status?: ConversionJobStatus;
}

export const isHeld = ({ finalizers = [] }: ObjectMeta): boolean => finalizers.includes(FINALIZER);

/** The API reports nothing new about it. */
export const isCompleted = ({ status }: ConversionJobObject): boolean => status?.completionTime !== undefined;
