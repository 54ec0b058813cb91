/** The files of a recipe under way: in a folder that no converter can reach, each judged when it was made. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { StepLimits } from '../../../catalog/engine.ts';
import { baseName } from '../../../catalog/names.ts';
import type { Reference } from '../../../catalog/recipes/recipe.ts';
import { conversionFailed } from '../../../errors.ts';
import { openFile } from '../../../exec/files/collect.ts';
import { copyContent } from '../../../streams/short.ts';
import type { ConversionResult } from '../convert.ts';
import { MAX_OUTPUT_BYTES } from '../judge.ts';
import { partNames } from '../output.ts';

/** For all steps together, at a time. */
const MOST_FILES = 2_500;

export interface KeptFile {
  /** Number of the step that made it; -1: it was sent. */
  readonly step: number;
  /** Which input of the step it came of, and its place among what came of that. */
  readonly order: number;
  readonly part: number;
  readonly format: string;
  readonly extension: string;
  /** Without extension. */
  readonly name: string;
  readonly path: string;
  readonly sizeBytes: number;
}

export interface KeptFiles {
  /** In order. */
  of(step: number): readonly KeptFile[];
  all(): readonly KeptFile[];
  /** How large they are together. */
  bytes(): number;
  add(file: Omit<KeptFile, 'path'>): KeptFile;
  /** Takes what a run has made. @returns the files, in order @throws Failure `output_limit` */
  take(
    made: ConversionResult,
    about: Pick<KeptFile, 'step' | 'order' | 'format' | 'extension' | 'name'>,
    signal: AbortSignal,
  ): Promise<readonly KeptFile[]>;
  /** Removes the files of the steps that nothing reads any more. */
  drop(isNeeded: (step: number) => boolean): Promise<void>;
}

/**
 * How much may be kept where a conversion's folder may hold so much, bytes: beside what is kept there is room for it once more, as what later
 * stints read or as the result.
 */
export const mostKept = (folderBytes: number): number => Math.min(MAX_OUTPUT_BYTES, Math.floor(folderBytes / 2));

/** What a conversion may use beside what is kept: both share the slot's part of the work folder. */
export function besideKept(limits: StepLimits, keptBytes: number): StepLimits {
  const folderBytes = limits.folderBytes - Math.min(keptBytes, mostKept(limits.folderBytes));
  return { ...limits, folderBytes, fileBytes: Math.min(limits.fileBytes, folderBytes + (1 << 20)) };
}

/** @param folder absolute path, empty @param maxBytes of all files together */
export function keptIn(folder: string, maxBytes: number): KeptFiles {
  const files = new Set<KeptFile>();
  let created = 0;
  const bytesOf = () => [...files].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const add = (file: Omit<KeptFile, 'path'>): KeptFile => {
    const kept = { ...file, path: join(folder, String(created++)) };
    if (bytesOf() + file.sizeBytes > maxBytes)
      throw conversionFailed('output_limit', {
        says: `The files of the recipe are larger than ${maxBytes} bytes together.`,
        details: { max_bytes: maxBytes },
      });
    if (files.size >= MOST_FILES)
      throw conversionFailed('output_limit', {
        says: `The recipe has made more than ${MOST_FILES} files.`,
        details: { max_files: MOST_FILES },
      });
    files.add(kept);
    return kept;
  };
  return {
    of: (step) => [...files].filter((file) => file.step === step).sort((a, b) => a.order - b.order || a.part - b.part),
    all: () => [...files],
    bytes: bytesOf,
    add,
    async take({ base, files: made }, about, signal) {
      const names = made.length === 1 ? [about.name] : partNames(about.name, made, about.extension).map(baseName);
      const taken: KeptFile[] = [];
      for (const [part, { folder: at, name }] of made.entries()) {
        signal.throwIfAborted();
        using opened = openFile(base, at, name);
        const kept = add({ ...about, part, name: names[part] ?? about.name, sizeBytes: opened.sizeBytes });
        await copyContent(`/proc/self/fd/${opened.fd}`, kept.path, opened.sizeBytes);
        taken.push(kept);
      }
      return taken;
    },
    async drop(isNeeded) {
      for (const file of files) {
        if (isNeeded(file.step)) continue;
        files.delete(file);
        await rm(file.path, { force: true });
      }
    },
  };
}

/** What a reference stands for. @throws Failure `input_limit` where there are not so many */
export function filesOf(kept: KeptFiles, { step, index }: Reference, called: string): readonly KeptFile[] {
  const files = kept.of(step);
  if (index === undefined) return files;
  const file = files[index];
  if (file !== undefined) return [file];
  const says = `"${called}" has made ${files.length === 1 ? 'one file' : `${files.length} files`}: there is no ${called}.${index}.`;
  throw conversionFailed('input_limit', { says, details: { limit: 'files', max: files.length, received: index + 1 } });
}
