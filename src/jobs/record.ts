/** A job as it is stored: everything that must survive a restart, at most 16 kB, no secret in the clear. */
import type { z } from 'zod';
import type { JobRecordSchema, StoredFailureSchema, StoredOutputSchema, StoredPartSchema, StoredRecipeSchema } from './record-schema.ts';

export type JobRecord = z.infer<typeof JobRecordSchema>;
export type StoredOutput = z.infer<typeof StoredOutputSchema>;
export type StoredRecipe = z.infer<typeof StoredRecipeSchema>;
export type StoredPart = z.infer<typeof StoredPartSchema>;
export type StoredFailure = z.infer<typeof StoredFailureSchema>;

/** As the schema says. */
export const RECORD_VERSION: JobRecord['version'] = 1;

/** Size of all its files together. */
export const sourceBytes = ({ sources }: Pick<JobRecord, 'sources'>): number => sources.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
