# A worker of one toolchain: what images/<toolchain>/packages.txt lists, on the base. The same file for all of them.
ARG BASE=localhost/filemill/base
FROM ${BASE}
ARG TOOLCHAIN
ARG APT_SNAPSHOT=
ARG SOURCE_DATE_EPOCH=
USER 0
COPY versions/${TOOLCHAIN}.txt /usr/local/share/filemill/versions.txt
COPY removed/${TOOLCHAIN}.txt /usr/local/share/filemill/removed.txt
RUN /usr/local/sbin/image-install < /usr/local/share/filemill/versions.txt
# After the packages: a change of filemill's own code builds nothing else again.
COPY app /app
COPY toolchains/${TOOLCHAIN}/ /app/
# V8's code of the role, and the versions of the converters: a worker that starts need not find out again. The whole service runs first, as its
# user, for it runs more of the code; then the role, as far as it comes without NATS. Where a build may not run the converters confined, each
# worker reads the versions itself. Predictable: as in app/Dockerfile.
RUN export BUILD_FLAGS=--predictable; mkdir -m 777 /work /app/compiled; \
    (DATA_DIR=/work PORT=0 timeout 60 setpriv --reuid 10001 --regid 10001 --clear-groups filemill local >/tmp/local.log 2>&1 & \
    for try in $(seq 240); do [ ! -s /work/versions.json ] || break; sleep 0.25; done; sleep 0.5; kill $! 2>/dev/null; wait); \
    cp /work/versions.json /app/versions.json || cat /tmp/local.log; \
    timeout 10 filemill worker --pool ${TOOLCHAIN} >/dev/null 2>&1; \
    rm -rf /work /tmp/local.log; chown -R 0:0 /app/compiled; chmod -R go-w,a+rX /app
ENV TOOLCHAIN=${TOOLCHAIN}
USER 10001:10001
EXPOSE 8081
CMD ["worker"]
# Last: they are others with each commit, and every step after them would be done again.
ARG VERSION=0.0.0
ARG REVISION=unknown
ARG CREATED=unknown
ENV FILEMILL_COMMIT=${REVISION}
LABEL org.opencontainers.image.title="filemill ${TOOLCHAIN}" \
      org.opencontainers.image.description="The filemill worker of the toolchain ${TOOLCHAIN}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
