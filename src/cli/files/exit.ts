/** What the commands on files end with: docs/cli.md. */
export const EXIT = { done: 0, failed: 1, usage: 2, cannotStart: 3, interrupted: 130, terminated: 143 } as const;
