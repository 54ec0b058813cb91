# A worker of one toolchain: what images/<toolchain>/packages.txt lists, on the base. The same file for all of them.
ARG BASE=localhost/filemill/base
FROM ${BASE}
ARG TOOLCHAIN
ARG APT_SNAPSHOT=
LABEL org.opencontainers.image.title="filemill ${TOOLCHAIN}" \
      org.opencontainers.image.description="The filemill worker of the toolchain ${TOOLCHAIN}"
USER 0
COPY toolchains/${TOOLCHAIN}/ /app/
COPY packages/${TOOLCHAIN}.txt /usr/local/share/filemill/packages.txt
RUN /usr/local/sbin/image-install < /usr/local/share/filemill/packages.txt
RUN timeout 10 filemill worker --pool ${TOOLCHAIN} >/dev/null 2>&1 || true; rm -rf /work; chmod -R a+rX /app
ENV TOOLCHAIN=${TOOLCHAIN}
USER 10001:10001
EXPOSE 8081
CMD ["worker"]
