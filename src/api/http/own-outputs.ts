/** URLs of this service that a request names as its files: those of outputs, which are never fetched over the network. */
import { jobIdPattern } from '../../contracts/api/job.ts';
import { Failure } from '../../errors.ts';
import { partsBelow } from '../../paths.ts';

/** A longer URL is refused unparsed, as in `fetch/url.ts`. */
const MAX_URL_CHARACTERS = 8_192;

/**
 * The job whose output this URL names. Its id is all that a client needs to have.
 * @param base of this service's URLs @returns undefined where the URL is of another host
 * @throws Failure `URL_REFUSED` for any other URL of this service: it is never fetched
 */
export function jobOfOutput(sent: string, base: string): string | undefined {
  if (sent.length > MAX_URL_CHARACTERS) {
    const says = `The URL is longer than ${MAX_URL_CHARACTERS} characters.`;
    throw new Failure('URL_REFUSED', { says, details: { reason: 'address' } });
  }
  const url = URL.parse(sent);
  const own = new URL(base);
  if (url === null || url.host !== own.host) return undefined;
  const job = /^api\/v1\/jobs\/([^/]+)\/output$/.exec(partsBelow(own.pathname, url.pathname)?.join('/') ?? '')?.[1];
  if (job !== undefined && jobIdPattern.test(job)) return job;
  const says = 'The URL points to this service, but not to the output of a job: pass the output URL of an earlier result.';
  throw new Failure('URL_REFUSED', { says, details: { reason: 'address' } });
}

/** Whether it is the URL of an output of this service. */
export function namesOutput(sent: string, base: string): boolean {
  try {
    return jobOfOutput(sent, base) !== undefined;
  } catch {
    return false;
  }
}
