/** What one step may use, where a test is not about limits. */
import type { StepLimits } from '../../../src/catalog/engine.ts';

export const LIMITS: StepLimits = {
  memoryBytes: 2 ** 31,
  cpuSeconds: 600,
  fileBytes: 2 ** 30,
  folderBytes: 2 ** 31,
  processes: 128,
  wallMs: 60_000,
};
