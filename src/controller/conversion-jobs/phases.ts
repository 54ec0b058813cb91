/** How many ConversionJobs there are of each phase. */
import { ConversionJobStatus } from '../../contracts/conversion-job.ts';
import type { ConversionJobObject } from './resource.ts';

const PHASES = ConversionJobStatus.shape.phase.unwrap().options;

/** All phases, those of which there is none too; one that nobody has looked at yet is pending. */
export function countByPhase(jobs: Iterable<ConversionJobObject>): Readonly<Record<string, number>> {
  const counts: Record<string, number> = Object.fromEntries(PHASES.map((phase) => [phase, 0]));
  for (const { status } of jobs) {
    const phase = status?.phase ?? 'Pending';
    // A newer controller may know others: no series is made of what a status says.
    if (counts[phase] !== undefined) counts[phase]++;
  }
  return counts;
}
