/** The format detection of received files. */
import { type Judge, openJudge } from '../../judge/judge.ts';
import type { Log } from '../../telemetry/log.ts';

export const judgeOfApi = (log: Log): Judge =>
  openJudge({ engines: false, onReplaced: (err) => log.warn({ err }, 'a thread that identifies file formats was replaced') });
