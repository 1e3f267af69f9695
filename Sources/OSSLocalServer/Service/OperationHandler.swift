// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// What becomes of a request's body.
enum BodyPlan {
    /// It is read and forgotten.
    case discard
    /// It is kept in memory, up to so many bytes.
    case document(limit: Int)
    /// It goes into a file.
    case file(IncomingFile)
    /// It is a form.
    case form(PostForm)
}

/// The body as it was received.
enum ReceivedBody {
    /// Nothing that matters.
    case none
    /// A document.
    case document([UInt8])
    /// A file that is not kept yet.
    case file(IncomingFile)
    /// A form whose file is not kept yet.
    case form(PostForm)
}

/// What an operation does, as access control lists see it.
enum Access: Sendable {
    /// What only the owner may do.
    case owner
    /// Looks at the bucket's list of objects.
    case list
    /// Reads an object.
    case read
    /// Writes or removes an object.
    case write
}

/// One operation on one request.
///
/// The initializer checks what the request line and the header fields tell, before the body is read; ``respond(to:)`` does
/// the work.
protocol OperationHandler {
    /// The operation's name as OSS documents it.
    static var name: String { get }

    /// Who may ask for it.
    static var access: Access { get }

    /// Whether the body tells who sends the request, and nothing else does; then the handler finds out.
    static var isSignedInBody: Bool { get }

    /// Takes a request that is authenticated, unless its body is to tell who sends it.
    init(_ request: Request, _ service: Service) throws(ServiceError)

    /// What becomes of the body.
    func planBody() throws(ServiceError) -> BodyPlan

    /// Does the work.
    func respond(to body: ReceivedBody) throws(ServiceError) -> Reply
}

extension OperationHandler {
    static var access: Access { .owner }
    static var isSignedInBody: Bool { false }

    func planBody() throws(ServiceError) -> BodyPlan { .discard }
}
