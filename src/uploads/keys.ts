/** The keys of uploads' objects, under a separate prefix, which the upkeep of jobs neither counts nor clears. */

export const UPLOADS_PREFIX = 'uploads/';

/** @param name of the part; unique to this attempt to write it */
export const partKey = (uploadId: string, name: string): string => `${UPLOADS_PREFIX}${uploadId}/${name}`;

/** The upload that an object belongs to. */
export const uploadOfKey = (key: string): string | undefined => /^uploads\/(upl_[0-9a-f]{32})\//.exec(key)?.[1];
