# ken in a container; docs/how-to/run-in-a-container.md says how to use it.

# Rust's image has the C compiler that some dependencies need.
FROM rust:1-bookworm AS build
WORKDIR /src
COPY . .
# The toolchain of the image, not another of the same channel.
RUN RUSTUP_TOOLCHAIN="$RUST_VERSION" cargo install --locked --path crates/ken --features milvus,postgres --root /opt/ken

FROM debian:bookworm-slim
# ca-certificates: for Milvus; for other servers ken brings certificates of its own.
# curl: for the health check.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates curl \
 && rm -rf /var/lib/apt/lists/*
# The folders belong to the user who runs ken; volumes that are mounted there for the first time take that over.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin ken \
 && install --directory --owner ken --group ken /data /models
COPY --from=build /opt/ken/bin/ken /usr/local/bin/ken

USER ken
# Corpora, ken.toml and keys are in /data, models in /models.
WORKDIR /data
VOLUME ["/data", "/models"]
ENV KEN_HOME=/models \
    KEN_LISTEN=0.0.0.0:8484
EXPOSE 8484
# A model that has to be downloaded first takes a while.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10m \
    CMD ["curl", "--fail", "--silent", "--output", "/dev/null", "http://127.0.0.1:8484/ready"]
ENTRYPOINT ["ken"]
CMD ["serve"]
