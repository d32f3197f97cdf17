//! TLS by the mysql client's five modes.

use super::error::WireError;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};
use server::{ConnectOptions, Endpoint, SslMode};
use std::sync::Arc;

/// The TLS configuration, made once and shared by all connections.
#[derive(Clone)]
pub struct TlsSettings {
    config: Option<Arc<ClientConfig>>,
}

impl TlsSettings {
    /// Reads the authorities' certificates and fixes what is verified.
    pub fn new(options: &ConnectOptions) -> Result<Self, WireError> {
        if options.ssl_mode == SslMode::Disabled || matches!(options.endpoint, Endpoint::Socket(_)) {
            return Ok(Self { config: None });
        }
        let provider = Arc::new(ring::default_provider());
        let roots = roots(options)?;
        let inner = match roots {
            Some(roots) => Some(
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                    .build()
                    .map_err(|e| WireError::Tls(format!("--ssl-ca holds no usable authority: {e}")))?,
            ),
            None => None,
        };
        let verifier = Verifier { mode: options.ssl_mode, inner, provider: Arc::clone(&provider) };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| WireError::Tls(e.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Self { config: Some(Arc::new(config)) })
    }

    /// A fresh TLS session towards the server.
    pub fn session(&self, options: &ConnectOptions) -> Result<ClientConnection, WireError> {
        let config = self.config.clone().ok_or_else(|| WireError::Tls("TLS is disabled".into()))?;
        let Endpoint::Tcp { host, .. } = &options.endpoint else {
            return Err(WireError::Tls("a unix socket needs no TLS".into()));
        };
        let name = ServerName::try_from(host.clone()).map_err(|e| WireError::Tls(e.to_string()))?;
        ClientConnection::new(config, name).map_err(|e| WireError::Tls(e.to_string()))
    }
}

fn roots(options: &ConnectOptions) -> Result<Option<RootCertStore>, WireError> {
    let needed = matches!(options.ssl_mode, SslMode::VerifyCa | SslMode::VerifyIdentity);
    let Some(path) = options.ssl_ca.as_ref().filter(|_| needed) else {
        return if needed {
            Err(WireError::Tls(
                "verify-ca and verify-identity need the authority's certificate: --ssl-ca FILE".into(),
            ))
        } else {
            Ok(None)
        };
    };
    let unreadable =
        |e: &dyn std::fmt::Display| WireError::Tls(format!("cannot read {}: {e}", path.display()));
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|e| unreadable(&e))? {
        store.add(certificate.map_err(|e| unreadable(&e))?).map_err(|e| unreadable(&e))?;
    }
    Ok(Some(store))
}

/// Verifies as much as the mode promises. MySQL's own generated certificates have no subject alternative
/// name and are signed by an authority of their own, so the weaker modes must accept them.
#[derive(Debug)]
struct Verifier {
    mode: SslMode,
    inner: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        match inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The chain is checked before the name, so this error means that the chain is good.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.mode == SslMode::VerifyCa => Ok(ServerCertVerified::assertion()),
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
