/** A time that processes of one machine share, ms: the steady clock of the kernel (clock_gettime(2), CLOCK_MONOTONIC). */
export const sharedNow = (): number => Number(process.hrtime.bigint()) / 1e6;
